"""One file a kind of action; a kind is a module here whose name has no underscore in front.

A kind reads its arguments, says what has to be asked, writes the job that the node will run, and explains failures.
Nothing here does I/O or knows another room than `model`.
"""
