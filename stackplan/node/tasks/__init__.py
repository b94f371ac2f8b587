"""One file a kind of task: `perform(arguments)` changes the node, under the supervisor, in a process of its own.

A task prints what it does and exits 0, or prints what stood in the way and exits otherwise.
"""
