"""In which state a systemd unit is: its load, active and unit file state, from one `systemctl show`.

Asked with `{"name": "nvidia-persistenced"}`; a name without a suffix is a service. `load` is loaded, not-found, masked,
bad-setting or error (then `load_error` says why). `active`, `sub` and `result` are ActiveState, SubState and Result;
`file_state` is UnitFileState, null where there is no unit file. `invocation` changes with every start, `changed` with
every change of state, a reload included. `needs_reload`: the unit file on disk is another than the one in memory.
`uid` and `user` are the asker's.
"""

from __future__ import annotations

import os
from typing import Any

from stackplan.node.context import Context
from stackplan.node.queries import _systemd


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    properties = _systemd.show(context, str(arguments["name"]))
    return {**_systemd.told(properties), "uid": os.geteuid(), "user": context.user}
