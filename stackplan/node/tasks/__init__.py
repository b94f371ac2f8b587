"""One file a kind of task: `perform(arguments)` changes the node, under the supervisor, in a process of its own.

`perform(arguments: dict) -> int` runs as the job's user, with the job's environment, its home as working folder,
standard input closed, and standard output and error captured together. It prints what it does and returns 0, or prints
what stood in the way and returns otherwise; an exception becomes its last line and exit status 1. The process may be
killed at any time (time limit, interruption), so a task leaves nothing half done: write beside, then rename.
"""
