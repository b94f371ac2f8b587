"""The same story against OpenSSH's sshd: another server than the lab's, and nodes that are apart from this machine."""
