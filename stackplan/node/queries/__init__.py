"""One file a kind of query: `answer(arguments, context)` looks at the node and returns plain data.

Three different endings: return a value (also for "it is not there"), raise `CannotTell` when the node has no means to
answer, raise `ProbeFailed` when the attempt went wrong (both in `stackplan.node.context`). A query runs in a process of
its user, with a time limit from outside, and may share what it found with the others of its batch in `context.memo`.
"""
