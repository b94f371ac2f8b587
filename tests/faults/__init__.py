"""A campaign of faults against runs over real sshd: whatever breaks, each action runs once and every run ends well."""
