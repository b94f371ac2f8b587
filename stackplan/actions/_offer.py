"""The question whether an address would give its file out, asked the way in which a step will ask."""

from stackplan.actions._sources import Address
from stackplan.model.arguments import Arguments, Value
from stackplan.model.facts import Query


def offer_query(url: Address, arguments: Arguments) -> Query:
    """Return the question; of the step's own `env` it holds what decides how an address is asked."""
    environment = {name: it for name, it in arguments.step_environment.items() if _leads_the_way(name)}
    asked: dict[str, Value] = {"url": url.text}
    return Query("offered_file", {**asked, "step_environment": environment} if environment else asked)


def _leads_the_way(name: str) -> bool:
    return name.upper().endswith("_PROXY") or name.startswith("SSL_CERT_")
