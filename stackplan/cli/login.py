"""Who runs this, for people to read in locks, journals and plans; nothing decides on it."""

import getpass
import os


def login_name() -> str:
    """Return the login of whoever runs this, or the number where it has no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"
