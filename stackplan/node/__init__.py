"""The node program: what the controller sends over the connection and starts on the node.

Standard library only, Python 3.8 and newer, because it runs with whatever Python the node has. It looks and it
supervises; it judges nothing.
"""
