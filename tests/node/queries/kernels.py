"""Names of kernels as the tools give them, and ages on both sides of what is installed."""

HASH = "4XQ7" * 13
GENERATED = f"cab{'k7' * 24}k.py"
HEX = "0f" * 32
INSTALLED = 1_700_000_000
OLD, NEW = INSTALLED - 3600, INSTALLED + 3600
