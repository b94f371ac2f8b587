"""Every report of what goes wrong in the field, replayed: what catches it, and at which stage."""
