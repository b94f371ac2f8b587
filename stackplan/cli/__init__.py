"""One file a command: read flags, call the engine, hand the report to a format, exit with its status."""
