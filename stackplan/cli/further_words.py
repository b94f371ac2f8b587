"""Further words that reports use without their being an outcome or a reason, and the signs in front of lines."""

from stackplan.cli.code import Code

FURTHER_WORDS: dict[str, Code] = {
    "done-and-proven": Code(
        "every selected step on these nodes is satisfied, or changed and proven; exit status 0",
        "After a step's action the node is asked, and all postconditions hold. What a tool printed, or that it ended "
        "with exit status 0, is not enough. A step whose `when` does not hold is skipped, and that is no fault.",
    ),
    "expected": Code(
        "what a condition states, in the words of the playbook",
        "`observed` beside it is what the node answered. Where the two differ the condition does not hold; the line "
        "of the playbook stands with them.",
    ),
    "observed": Code(
        "what the node answered when a condition was asked",
        "`expected` beside it is what the condition states. Where nothing could be observed the reason stands there, "
        "and the condition is not proven.",
    ),
    "outcome": Code(
        "how a step or a node ended, in one word",
        "Of a step: satisfied, changed, failed, skipped, not-reached, rolled-back; in a plan would-change, would-run, "
        "would-fail, unknown; in `verify` held, not-held. Of a node: ok, pending, failed, unreachable, lost, skipped, "
        "interrupted, locked, stale. `stackplan explain` tells each of them. The reason of a failed step stands apart.",
    ),
    "remedy": Code(
        "the smallest edit or command that answers a fault, as far as one is known",
        "It is made from the playbook's own index, label and paths, and not copied from a tool's hint. Where none is "
        "known, none is told. The code in front of it (SP201) can be explained, too.",
    ),
    "cut-off": Code(
        "of a run: its controller ended without a word; of a text: the rest is not shown",
        "`stackplan resume RUN` goes on with such a run, and a rollback is called again. A text that is cut off ends "
        "in `… (N characters)`; `--format json` has the whole of it.",
    ),
    "intact": Code(
        "of an environment: it has what its packages recorded, with the same sizes or digests",
        "The condition `environment_intact` compares the files with each package's RECORD. An installer that was "
        "stopped halfway leaves packages that look installed and whose files are missing.",
    ),
    "local-label": Code(
        "the part of a version after `+`, such as `cu130` in `2.11.0+cu130`",
        "It names a build of the same version, for torch mostly the CUDA that it was made for. To an installer "
        "`torch==2.11.0` is satisfied by any label, so another build is not fetched. A label is a name and no proof: "
        "`cuda_coherent` looks at the files.",
    ),
    "snapshot": Code(
        "a copy of what an action writes, made on the node before the action starts",
        "An environment's stands beside it; files are copied to `~/.local/state/stackplan/HOST/snapshots` on the node. "
        "Of each thing the last three are kept. `stackplan rollback RUN` and `on_failure: rollback` put it back. What "
        "scripts, services and system packages do has none.",
    ),
    "stopped": Code(
        "of a node: a step failed there, and nothing after it ran",
        "The step, its reason and a remedy stand below. Other nodes go on as `rollout` decides. `stackplan resume RUN` "
        "begins again at that step.",
    ),
    "started": Code(
        "of a node or a run: it began; of an action: it was begun on the node, and how it ended is told later",
        "The time beside a run is in UTC. A node that is `not started` was not touched.",
    ),
    "taken-up-again": Code(
        "of a run: `stackplan resume` goes on with it, by the plan that was kept",
        "What was proven is asked again, and not done again. It stays the same run, under the same name.",
    ),
    "resumed": Code(
        "of a run: the same as taken up again",
        "`stackplan resume RUN` does it for a run that stopped, or whose controller went away.",
    ),
    "put-back": Code(
        "what a run had written is as it was before, and was proven to be so",
        "By `stackplan rollback RUN` or `on_failure: rollback`, from the snapshots. A step whose writing was put back "
        "has the outcome rolled-back.",
    ),
    "in-part": Code(
        "of a rollback: some steps were put back, and others stay as the run left them",
        "Scripts, services and system packages have no snapshot. The last line of the rollback names the steps that "
        "stay.",
    ),
    "holds-now": Code(
        "plan: the condition was asked just now, and holds before anything runs",
        "Of what holds only after the step a plan says that it will hold, or that this is unknown until applied.",
    ),
    "reason": Code(
        "why a step failed, in one word: precondition, action, timeout, no-op, postcondition, regression, lost, …",
        "`stackplan explain failed` names the others, too, and `stackplan explain` tells each of them. The JSON report "
        "has it in `reason`.",
    ),
    "also-in": Code(
        "the same finding stands for these nodes or steps too, and is told once",
        "The JSON report tells it of each of them.",
    ),
    "public-version": Code(
        "a version without its local label: `2.11.0` of `2.11.0+cu130`",
        "`==2.11.0` is satisfied by every build of it; `==2.11.0+cu130` by one.",
    ),
    "label": Code(
        "of a version: its local label, such as `cu130`; of a node: a name with a value in the inventory",
        "`stackplan explain 'local label'` tells of the first. `-l` and `nodes` select nodes by the second.",
    ),
    "journal": Code(
        "the file in which a node, or this machine, notes a run's events before they are told",
        "From it a lost connection is made up for, and `stackplan show RUN` reads it. Of a service it is systemd's "
        "journal, of which a report shows the end.",
    ),
    "controller": Code(
        "the machine, and the process on it, from which `stackplan apply` was called",
        "Where it goes away in the middle, the action on the node goes to its end, and nothing is begun after it. "
        "`stackplan resume RUN` goes on.",
    ),
    "attempt": Code(
        "one run of a step's action; there are more where the step has `retries`",
        "Only what holds after the last one counts.",
    ),
    "within": Code(
        "how long a condition may take to come true, from the end of the action",
        "It is asked again and again until it holds. Where it does not, the last answer is told.",
    ),
    "warn": Code(
        "a finding that stops nothing, and that somebody should know of",
        "`why` in its place says what stopped a node, `note` what is no fault.",
    ),
    "note": Code(
        "what a report adds where nothing is wrong, such as a service that still runs from what was put back",
        "It changes no exit status.",
    ),
    "✔": Code(
        "a step that is satisfied, changed and proven, or held; a condition that holds, or is foretold to",
        "The node was asked. In front of a step in a plan it says that nothing has to be done; in front of a condition "
        "there, that it holds now or will hold: the words beside it say which.",
    ),
    "✘": Code(
        "a step that failed, would fail or was interrupted; a condition that does not hold",
        "Expected and observed stand below it, with the reason of the step and a remedy where one is known.",
    ),
    "?": Code(
        "what is not known: a condition that could not be answered, or a step of which nothing is foretold",
        "It is not taken for true. In `apply` and `verify` it counts as not proven. In `diff` it marks what cannot be "
        "shown to prove as much as before. In a shell it has to be quoted: `stackplan explain '?'`.",
    ),
    "~": Code(
        "plan: a step that would change something, or a condition that does not hold now and will hold afterwards",
        "What would change stands beside it. In `diff` it marks what differs and proves neither more nor less.",
    ),
    "▸": Code(
        "plan: a step whose action would run, and nothing foretells what it does",
        "`stackplan explain would-run` tells more.",
    ),
    "↩": Code(
        "a step whose writing was put back, or, before a rollback asks, what would be put back",
        "`stackplan explain rolled-back` tells more.",
    ),
    "·": Code(
        "a remark, or a step that was not reached or is not taken back",
        "It is no fault by itself.",
    ),
    "-": Code(
        "a step that was skipped",
        "Its `when` does not hold on the node; after a rollback: it is not taken back, or had changed nothing.",
    ),
    "▼": Code(
        "`diff`: a condition that proves less than before, or is gone",
        "`stackplan explain weakened` tells more. `▲` marks what proves more.",
    ),
    "▲": Code("`diff`: a condition that proves more than before", "`▼` marks what proves less."),
    "→": Code(
        "from what is there to what will be, or was put, in its place",
        "Behind a finding of a report in Markdown it leads to the remedy.",
    ),
    "$": Code(
        "a command, as it ran or would run on the node",
        "Secrets in it are masked. In a shell it has to be quoted: `stackplan explain '$'`.",
    ),
    "│": Code(
        "what a command printed on the node, or a line of the playbook",
        "It is shown as it came, but that control characters are made visible and secrets are masked. It proves "
        "nothing by itself.",
    ),
}
