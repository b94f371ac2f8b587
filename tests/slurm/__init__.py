"""Debian's own Slurm on loopback."""
