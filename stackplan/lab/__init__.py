"""Simulated nodes and a small package index on loopback, for the demo, the tests and for rehearsing a playbook."""
