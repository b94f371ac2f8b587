"""What tells somebody outside of the node that something begins or ends: it may fail, the work goes on."""

import re

from stackplan.language.lint._fetching import discards, options, prints, sends
from stackplan.language.lint._own_address import is_own
from stackplan.language.lint._tree import Command
from stackplan.model.regular import regular

_MAILING = frozenset({"mail", "mailx", "sendmail", "msmtp", "notify-send", "systemd-notify", "write"})
_HOOK = regular(
    r"https?://(?:[^/@]*@)?(?:[^/]*\.)?(?:hooks?|webhooks?|notify|ntfy|alerts?|hc-ping|healthchecks|pushover|slack|discord)[.\w-]*(?:[:/]|$)"
    r"|https?://\S*/(?:web)?hooks?(?:[/?-]|$)|https?://api\.telegram\.org/|\S+/metrics/job/|\S+/api/annotations(?:[/?]|$)"
    r"|\$\{?(?:[a-z0-9]+_)*(?:(?:web)?hooks?|notif(?:y|ier|ications?)|push_?gateway|slack|discord|ntfy|hc_?ping)(?:_|\W|$)",
    re.IGNORECASE,
)
"""Addresses that take messages: their host or a part of their path says so, or the variable that holds them.

A Pushgateway takes them at `/metrics/job/`, Grafana at `/api/annotations`.
"""


def notifies(command: Command) -> bool:
    """Return whether a command only sends word: mail, a message to a hook, a ping whose answer nobody keeps."""
    if command.program in _MAILING:
        return True
    if command.program not in ("curl", "wget"):
        return False
    given = options(command) if command.program == "curl" else {}
    target = given.get("--url") or command.words[-1]
    addresses = [word for word in command.words[1:] if "://" in word or (word == target and _HOOK.match(word))]
    if not addresses or any(map(is_own, addresses)) or {"T", "--upload-file"} & set(given):
        return False
    if any(map(_HOOK.match, addresses)):
        return discards(command) or (prints(command) and not command.redirections)
    return discards(command) and not sends(command)
