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
        "Of environments and files, beside them; of each thing the last three are kept. `stackplan rollback RUN` and "
        "`on_failure: rollback` put it back. What scripts, services and system packages do has none.",
    ),
    "✔": Code(
        "a step that is satisfied, changed and proven, or held; a condition that holds",
        "The node was asked. In front of a step in a plan it says that nothing has to be done.",
    ),
    "✘": Code(
        "a step that failed or would fail; a condition that does not hold",
        "Expected and observed stand below it, with the reason of the step and a remedy where one is known.",
    ),
    "?": Code(
        "what is not known: a condition that could not be answered, or a step of which nothing is foretold",
        "It is not taken for true. In `apply` and `verify` it counts as not proven. In `diff` it marks what cannot be "
        "shown to prove as much as before. In a shell it has to be quoted: `stackplan explain '?'`.",
    ),
    "~": Code(
        "plan: a step that would change something; `diff`: what differs and proves neither more nor less",
        "What would change stands beside it.",
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
}
