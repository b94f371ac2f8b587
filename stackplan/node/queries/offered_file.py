"""Whether an address would give out its file, without fetching it: asked as `download` will ask, for the first byte.

Asked with `{"url": …, "step_environment": {…}}`, the step's own `env`. The answer is `{"offered": true, "why": null}`,
or with `offered` false and why in words: "answered 404 Not Found", "cannot be reached: Connection refused". An answer
that may be another one when the step runs (503, a certificate, a proxy that wants a login) tells nothing: CannotTell.
"""

from __future__ import annotations

import http.client
from typing import Any

from stackplan.node.context import CannotTell, Context
from stackplan.node.queries._web import NoAnswer, Web

PATIENCE_S = 20.0
_REFUSALS = (
    http.client.UNAUTHORIZED,
    http.client.FORBIDDEN,
    http.client.NOT_FOUND,
    http.client.GONE,
)
_FIRST_BYTE = "0-0"


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    web = Web({**context.environment(), **(arguments.get("step_environment") or {})}, {})
    # No installer's own limit counts here.
    web.patience_s = web.installers_patience_s = PATIENCE_S
    try:
        # Not HEAD: many servers refuse that for files that they give out.
        web.get(str(arguments["url"]), _FIRST_BYTE).close()
    except NoAnswer as error:
        if error.status == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            # An empty file has no first byte.
            return {"offered": True, "why": None}
        if error.status in _REFUSALS or (error.status is None and error.unreachable):
            return {"offered": False, "why": error.why}
        raise CannotTell(f"the address {error.why}") from error
    return {"offered": True, "why": None}
