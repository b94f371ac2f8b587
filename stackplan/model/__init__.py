"""The words of the field as frozen dataclasses, in the order in which data flows through them.

Nothing here does I/O, reads a clock or knows another room; `packaging` is the only library that is imported.
Every other room speaks in these types.
"""
