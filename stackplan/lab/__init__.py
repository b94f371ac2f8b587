"""Simulated nodes and a small package index on loopback, for the demo, the tests and for rehearsing a playbook.

Nothing here is NVIDIA's or PyTorch's: every wheel, program and library is a stand-in that carries the metadata that
matters and says that it is one. May import the rooms below it, and paramiko for the server side of SSH.
"""
