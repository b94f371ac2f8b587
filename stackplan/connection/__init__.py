"""A duplex byte stream to a Python on a node, and the session that speaks to the node program over it.

Only this room (and the lab) speaks SSH. Of the node program it knows the frames.
"""
