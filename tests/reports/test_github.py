"""Diagnoses as GitHub annotations: one line each, whatever stands in them."""

import re

import pytest

from stackplan.model.diagnosis import Diagnosis, Severity
from stackplan.model.location import Location
from stackplan.reports import github

# The runner splits a command at its first `::` and its properties at commas and equals signs, then decodes.
COMMAND = re.compile(r"::(?P<name>\w+) (?P<properties>[^\n]*?)::(?P<message>[^\n]*)")


def decoded(line):
    match = COMMAND.fullmatch(line)
    undo = {"%3A": ":", "%2C": ",", "%0D": "\r", "%0A": "\n", "%25": "%"}

    def plain(text):
        return re.sub("|".join(undo), lambda it: undo[it[0]], text)

    properties = dict(it.split("=", 1) for it in match["properties"].split(","))
    return match["name"], {key: plain(value) for key, value in properties.items()}, plain(match["message"])


def test_place_code_step_and_remedy_are_said():
    at = Location("playbooks/a.yaml", 37, 7)
    diagnosis = Diagnosis(summary="it stays", code="SP101", at=at, span=5, step="torch", remedy="add `upgrade: true`")
    (line,) = github.render([diagnosis]).splitlines()
    assert line == (
        "::error file=playbooks/a.yaml,line=37,endLine=37,col=7,endColumn=12,title=SP101 (torch)"
        "::it stays%0Aadd `upgrade: true`"
    )


@pytest.mark.parametrize(
    ("severity", "name"), [(Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.NOTE, "notice")]
)
def test_severities(severity, name):
    assert github.render([Diagnosis(summary="x", severity=severity)]).startswith(f"::{name} title=stackplan::x")


def test_what_would_end_a_command_or_begin_another_is_escaped():
    nasty = "100% ::error file=x,line=1::no\r\n::stop-commands::a"
    at = Location("a,b:c=%0A\n::d.yaml", 1, 1)
    (line,) = github.render([Diagnosis(summary=nasty, at=at, step="s,t:u", remedy="r\ns")]).splitlines()
    name, properties, message = decoded(line)
    assert name == "error"
    assert properties["file"] == "a,b:c=%0A\\n::d.yaml", (
        "a line break in a name is shown as a terminal would be shown it"
    )
    assert properties["title"] == "stackplan (s,t:u)"
    assert message == "100% ::error file=x,line=1::no\\r\\n::stop-commands::a\nr\\ns"


def test_expected_and_observed_are_told():
    _, _, message = decoded(github.render([Diagnosis(summary="s", expected="13.0", observed="12.8")]).strip())
    assert message == "s\nexpected: 13.0\nobserved: 12.8"
