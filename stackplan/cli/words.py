"""The words in which reports say how a thing stands or ended; `stackplan explain no-op` tells one of them."""

from stackplan.cli.code import Code
from stackplan.cli.further_words import FURTHER_WORDS

WORDS: dict[str, Code] = {
    "held": Code(
        "a condition was asked and holds",
        "The verdict rests on what the node answered just now. Of what is only foretold a plan says that it will hold.",
    ),
    "not-held": Code(
        "a condition was asked and does not hold, or in `verify` could not be answered",
        "Expected and observed stand beside it. `verify` says of a step `not held` where one of its conditions is "
        "known not to hold, and `not proven` where one could not be answered; its JSON has `not-held` for a step in "
        "both cases, and `not-held` or `unknown` for the condition.",
    ),
    "unknown": Code(
        "it could not be asked, or nothing foretells it",
        "Unknown is not true: in `apply` and `verify` it counts as not proven and stops the node, with the reason "
        "beside it. In a plan `unknown until applied` is what nothing foretells, such as what a script does. Of a step "
        "it is said where an earlier step decides whether it runs, or what it finds.",
    ),
    "unknown-until-applied": Code(
        "plan: nothing foretells whether it will hold",
        "What a script does is not foretold, nor what it leaves to later steps. `apply` asks when it comes there, and "
        "stops where it does not hold.",
    ),
    "not-proven": Code(
        "a condition could not be answered",
        "Something stood in the way of the question, and the reason stands beside it. It is treated like a condition "
        "that does not hold: the node stops, and `verify` ends with exit status 3.",
    ),
    "proven": Code(
        "a condition was asked on the node and holds",
        "It is said of answers of the node itself, never of a prediction, nor of what a tool printed or its exit "
        "status.",
    ),
    "satisfied": Code(
        "the step's postconditions held before anything ran, so its action was not run",
        "A second `apply` is all satisfied. `always: true` on a step runs its action all the same. Where the plan "
        "warns that the action would still change something, the postconditions are too weak to tell.",
    ),
    "changed": Code(
        "the step's action ran, and its postconditions hold",
        "What changed is told from the node's answers before and after.",
    ),
    "failed": Code(
        "the step stopped its node; reports show the reason in its place",
        "Reasons: precondition, action, timeout, no-op, postcondition, regression, lost, interrupted. `stackplan "
        "explain` tells each of them. No later step ran on that node.",
    ),
    "skipped": Code(
        "the step's `when` does not hold on this node; after `rollback` it means another thing",
        "In `plan`, `apply` and `verify` nothing was asked of the step and nothing ran. After `stackplan rollback` the "
        "step did run in the run that is taken back: what it did is not taken back and stays, because there is no "
        "snapshot of it, or it had changed nothing; the line says which. Of a node: the rollout ended before it, as "
        "`max_failures` decides.",
    ),
    "not-reached": Code(
        "an earlier step stopped the node, or a plan foresees that it will",
        "Nothing of the step runs. A plan names the step that would fail before it; its JSON has the outcome `unknown` "
        "for it, since nothing is foretold of it.",
    ),
    "rolled-back": Code(
        "what the step wrote was put back, and proven to be as it was before the run",
        "By `on_failure: rollback` or `stackplan rollback RUN`, from snapshots that the run made ahead of its actions. "
        "What a script did is not among it. Its conditions are told as they stand afterwards.",
    ),
    "would-change": Code(
        "plan: the action would run and bring the step's postconditions about",
        "The changes beside it come from the installer's own dry run, or from comparing files.",
    ),
    "would-run": Code(
        "plan: the action would run, and its effect is not foretold, or it runs always",
        "A script may do anything, so what holds after it is unknown until applied.",
    ),
    "would-fail": Code(
        "plan: the step is foretold to stop its node; exit status 3",
        "The reason is that with which `apply` would stop: precondition, action, no-op, postcondition or regression. "
        "Later steps are not reached.",
    ),
    "precondition": Code(
        "reason: something that has to be so before the action does not hold, or could not be asked",
        "The action was not started, and nothing was touched by the step.",
    ),
    "action": Code(
        "reason: the action did not end with exit status 0, or could not be started",
        "The end of its output is shown. `stackplan show RUN --output STEP` has more of it.",
    ),
    "timeout": Code(
        "reason: the action did not end within the step's `timeout`, and was ended",
        "All that it had started was ended with it. Its postconditions are asked all the same and shown. Raise "
        "`timeout` on the step where the time was too short.",
    ),
    "no-op": Code(
        "reason: the action ended with exit status 0, changed nothing, and a postcondition does not hold",
        "An installer says success when it did nothing. The step fails, and a finding beside it (SP201 and the like) "
        "says which edit makes the action act. A reinstall that wrote the files anew is none, even where they are the "
        "same.",
    ),
    "postcondition": Code(
        "reason: the action ran and changed something, and a postcondition does not hold or could not be asked",
        "Expected and observed stand beside it, and what was changed before it stopped.",
    ),
    "regression": Code(
        "reason: what an earlier step had proven no longer holds",
        "After each step the postconditions of the steps before are asked again, the costly ones at the end. The "
        "report names the step that broke and its conditions. `recheck` on a condition says when it is asked again.",
    ),
    "lost": Code(
        "reason: it is not known how the action ended, for the node or its connection went away",
        "Nothing is started twice. `stackplan resume RUN` takes the run up again and judges by the postconditions.",
    ),
    "interrupted": Code(
        "somebody ended it: Ctrl-C, SIGTERM; exit status 130",
        "`stackplan resume RUN` goes on from there.",
    ),
    "bug": Code(
        "reason: stackplan itself failed; exit status 1",
        "The traceback is in a file that is named beside it. `stackplan verify` tells where the nodes stand.",
    ),
    "unrecorded": Code(
        "reason: an offline plan has no recorded facts of the node; exit status 4",
        "`stackplan facts PLAYBOOK -o DIR` records them.",
    ),
    "ok": Code(
        "of a node: every step is satisfied or changed, and proven; in `verify`: everything holds",
        "In a plan: there is nothing to do.",
    ),
    "pending": Code(
        "of a node: the plan has something to do on it",
        "`plan --detailed-exitcode` ends with exit status 5 then.",
    ),
    "unreachable": Code(
        "of a node: it could not be connected to or asked; exit status 4",
        "Nothing ran there. The reason and what to try stand beside it.",
    ),
    "locked": Code(
        "of a node: another run holds it; exit status 7",
        "The report says who, and since when. `stackplan unlock NODE` shows what runs there, and ends it when told to.",
    ),
    "stale": Code(
        "of a node: it is no longer as the saved plan found it; exit status 6",
        "What moved is named. Plan again. Facts can be stale, too: an offline plan notes those that were recorded "
        "before the playbook was changed.",
    ),
    "wave": Code(
        "nodes that are taken at the same time; a wave begins when the one before it has ended",
        "`rollout` in a playbook makes them: the canary first, then batches. Without it all nodes are one wave. "
        "`max_failures` says after how many failed nodes no further wave begins.",
    ),
    "canary": Code(
        "the first wave of a rollout: few nodes, so that a bad step stops before the many",
        "`rollout: {canary: 1}` makes it one node, `10%` a share of all. When more of its nodes fail than "
        "`max_failures` lets, the others are skipped, and nothing runs on them.",
    ),
    "drained": Code(
        "of a Slurm or Kubernetes node: it takes no new jobs, and those that ran have ended",
        "`slurm_node: {state: drained}` asks for it before a step that must not meet a job. A drain that a playbook "
        "set is taken back by the playbook's own step alone; what others drained stays drained.",
    ),
    "written-again": Code(
        "of a change: the files were written anew, and read as before",
        "A reinstall does it. It counts as a change, so it is no no-op.",
    ),
    "restarted": Code(
        "of a change: the service is a new process, in the state it was in before",
        "A restart has no other trace in its state. `reloaded` is the same for a service that keeps its process.",
    ),
    "drift": Code(
        "a node is no longer as an earlier run proved it",
        "`stackplan verify PLAYBOOK` finds it: a condition that was proven does not hold any more. `stackplan history "
        "-n NODE` says which runs came to the node; `apply` brings it back.",
    ),
    "weakened": Code(
        "`diff`: a condition proves less than before, or is gone",
        "Marked ▼. What cannot be shown to prove as much as before is marked with a question mark.",
    ),
    "idempotent": Code(
        "applied again, it changes nothing",
        "A second `apply` finds every step satisfied. A step that does not has postconditions that its action does not "
        "bring about for good, or `always: true`.",
    ),
    **FURTHER_WORDS,
}
"""By the word as the JSON report has it; the values of the model's enumerations are all among them."""
