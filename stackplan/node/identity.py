"""Who this process is, and how a child of it becomes somebody else."""

from __future__ import annotations

import os
import pwd
import signal
import sys
from typing import Any, Mapping

from stackplan.node.boot import BOOT
from stackplan.node.context import plain_environment

# What the login of one user says about itself and would be a lie for another.
_PERSONAL = ("XDG_", "SUDO_", "MAIL", "SSH_", "DBUS_SESSION_BUS_ADDRESS", "PYENV", "VIRTUAL_ENV")


class NoSuchUser(LookupError):
    """There is no user of that name on this node."""


def account(name: str) -> pwd.struct_passwd:
    """Return the entry of a user. Raise NoSuchUser."""
    try:
        return pwd.getpwnam(name)
    except KeyError:
        raise NoSuchUser(f"there is no user `{name}` on this node") from None


def user_name() -> str:
    """Return the name of the user this process belongs to, or its number where it has none."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def home() -> str:
    """Return the home of the user this process belongs to."""
    found = os.environ.get("HOME")
    if found:
        return found
    try:
        return pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        return "/"


def other(user: str | None) -> str | None:
    """Return `user` when that is somebody else than this process belongs to, or None. Raise NoSuchUser."""
    if user is None or account(user).pw_uid == os.geteuid():
        return None
    return user


def sudo_argv(user: str) -> list[str]:
    """Return the command that starts BOOT as `user`, for a process that is not root."""
    return ["sudo", "-n", "-H", "-u", user, "--", sys.executable, "-I", "-u", "-c", BOOT]


def environment_of(entry: pwd.struct_passwd, login: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of `login` as that of another user."""
    kept = {name: value for name, value in login.items() if not name.startswith(_PERSONAL)}
    own = {"HOME": entry.pw_dir, "USER": entry.pw_name, "LOGNAME": entry.pw_name, "SHELL": entry.pw_shell or "/bin/sh"}
    return plain_environment({**kept, **own})


def become(name: str) -> None:
    """Turn this process, which has to be root's, into one of user `name`, its groups and environment included."""
    entry = account(name)
    os.initgroups(entry.pw_name, entry.pw_gid)
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)
    personal = environment_of(entry, os.environ)
    os.environ.clear()
    os.environ.update(personal)


def forget_signals() -> None:
    """Give a forked child the default reactions: what the parent ignores or handles is the parent's own affair."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGCHLD, signal.SIGUSR1, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)


def greeting() -> dict[str, Any]:
    """Return what the node program says of itself when it starts."""
    return {
        "python": "{}.{}.{}".format(*sys.version_info[:3]),
        "executable": sys.executable,
        "user": user_name(),
        "uid": os.geteuid(),
        "home": home(),
        "host": os.uname().nodename,
        "pid": os.getpid(),
    }
