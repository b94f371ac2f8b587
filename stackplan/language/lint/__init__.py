"""The lint rules, one file a rule: what a playbook says that goes wrong in the field, found without any node.

A rule is a module that holds `RULE`; its stem is the rule's name, and two playbooks in `examples/` beside it show what
it objects to and what it is content with. A rule that cannot tell is silent. Imports model and `language`'s reading.
"""
