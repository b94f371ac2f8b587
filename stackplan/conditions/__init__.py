"""One file a kind of condition; a kind is a module here whose name has no underscore in front.

A kind reads its arguments, says what has to be asked, and evaluates facts into a verdict. Nothing here does I/O or
knows another room than `model`.
"""
