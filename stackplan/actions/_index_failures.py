"""What is said of a dry run that was refused because an index did not answer as it should. Pure; imports model only.

Installers say of many of these faults that the package does not exist. The node asked the index itself.
"""

from stackplan.actions._dry_run import Finding
from stackplan.actions._outlook import Outlook, asked
from stackplan.actions._wishes import Wishes
from stackplan.model.arguments import Arguments
from stackplan.model.diagnosis import Diagnosis

_ABSENT = ("answered 404", "answered 410", "answered with a page")
_LOGIN = ("refused the login", "wants a login", "refused access")


def unanswered(wishes: Wishes, expected: Outlook, arguments: Arguments) -> tuple[Diagnosis, ...]:
    """Return what is said of the indexes, where they explain a refusal: all are mute, or offer none of a name's files.

    Nothing where another index may have offered everything: then the installer's own words count.
    """
    findings, refusal = expected.findings, expected.refusal
    mute = {it.index for it in findings if it.name is None}
    named = {wishes.indexes.index(it) for it in wishes.indexes}
    if refusal is None or not findings or not (named <= mute or any(it.name or it.silent for it in findings)):
        return ()
    found = [_diagnosis(wishes, it, arguments) for it in findings]
    return tuple(dict.fromkeys(found))


def _diagnosis(wishes: Wishes, finding: Finding, arguments: Arguments) -> Diagnosis:
    main = finding.index == 0 and wishes.index_url is not None
    key = "index_url" if main else "extra_index_urls"
    place = arguments.place(*((key,) if main else (key, finding.index - (wishes.index_url is not None))))
    absent = finding.why.startswith(_ABSENT)
    said = asked(wishes, finding)
    return Diagnosis(
        code="SP208" if absent else "SP207",
        summary=f"{said[0].upper()}{said[1:]}.",
        at=arguments.at,
        remedy=f"{_remedy(wishes, finding, f'`{key}` at {place.line}:{place.column}')}.",
        remedy_at=place,
    )


def _remedy(wishes: Wishes, finding: Finding, where: str) -> str:
    if finding.silent:
        name = "PIP_DEFAULT_TIMEOUT" if wishes.installer.value == "pip" else "UV_HTTP_TIMEOUT"
        return (
            f'Check {where}, and that the node reaches it; a slow one gets time by `env: {{{name}: "60"}}` of the step'
        )
    if finding.why.startswith(_LOGIN):
        if finding.why.startswith("refused the login"):
            return f"Check the user and the password in {where}"
        return f"Check {where}: it may need a user and a password, from a secret variable"
    if finding.why.startswith(_ABSENT):
        return f"Check {where}: is it right, and does it hold {finding.name or wishes.names[0]}?".removesuffix("?")
    if finding.why.startswith(("answered 429", "answered 5")):
        when = "later, on fewer nodes at once" if finding.why.startswith("answered 4") else "when it is well"
        return f"Try again {when}, or name another in {where}"
    return f"Check {where}, and that the node reaches it (name, proxy, firewall)"
