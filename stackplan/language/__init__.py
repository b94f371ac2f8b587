"""From text to a playbook and an inventory: reading with positions, schema, templates, variables, patterns, lint.

Imports `model` alone. Everything that is wrong in a file is reported in one go, each with its place.
"""
