"""What tells somebody outside of the node that something begins or ends: it may fail, the work goes on."""

import re

from stackplan.language.lint._fetching import discards, options, prints, sends
from stackplan.language.lint._own_address import is_own
from stackplan.language.lint._tree import Command

_MAILING = frozenset({"mail", "mailx", "sendmail", "msmtp", "notify-send", "systemd-notify", "write"})
_HOOK = re.compile(
    r"https?://(?:[^/@]*@)?(?:[^/]*\.)?(?:hooks?|webhooks?|notify|ntfy|alerts?|hc-ping|healthchecks|pushover|slack|discord)[.\w-]*(?:[:/]|$)"
    r"|https?://\S*/(?:web)?hooks?(?:[/?-]|$)|https?://api\.telegram\.org/",
    re.IGNORECASE,
)
"""Addresses that take messages: their host or a part of their path says so."""


def notifies(command: Command) -> bool:
    """Return whether a command only sends word: mail, a message to a hook, a ping whose answer nobody keeps."""
    if command.program in _MAILING:
        return True
    if command.program not in ("curl", "wget"):
        return False
    addresses = [word for word in command.words[1:] if "://" in word]
    if not addresses or any(map(is_own, addresses)):
        return False
    if command.program == "curl" and {"T", "--upload-file"} & set(options(command)):
        return False
    if any(map(_HOOK.match, addresses)):
        return discards(command) or (prints(command) and not command.redirections)
    return discards(command) and not sends(command)
