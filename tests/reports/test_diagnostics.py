"""Diagnoses as people read them."""

from dataclasses import replace

from rich.cells import cell_len

from stackplan.model.diagnosis import Diagnosis, Severity
from stackplan.model.location import Location
from stackplan.reports import diagnostics
from stackplan.reports.alike import alike

WRONG_KEY = Diagnosis(
    summary="unknown key `pakages` in `python_packages`",
    expected="one of `packages`, `requirements`, `venv`",
    at=Location("playbooks/p.yaml", 12, 9),
    source="        pakages: [torch]",
    span=7,
    remedy="did you mean `packages`?",
)
LINT = Diagnosis(
    code="SP103",
    severity=Severity.WARNING,
    summary="the index of step `torch` is pinned to nothing",
    at=Location("playbooks/p.yaml", 14, 9),
    source="        index_url: https://download.pytorch.org/whl/nightly/cu130",
    span=9,
    causes=("a nightly index changes every day", "an index may lose a build"),
)
WIDE = Diagnosis(
    summary="control character in a text",
    observed="\x1b[2J",
    at=Location("p.yaml", 1, 6),
    source="日本: \t\x1b[2J",
    span=2,
    step="torch",
    remedy="take it away",
    remedy_at=Location("p.yaml", 1, 6),
)


def test_reads_as_the_golden_file_says(golden):
    plain = Diagnosis(summary="there is no playbook x.yaml", remedy="did you mean `y.yaml`?")
    golden("diagnostics", diagnostics.render([WRONG_KEY, LINT, WIDE, plain], colour=False))


def test_nothing_to_say_is_nothing():
    assert diagnostics.render([], colour=False) == ""


def test_the_caret_stands_under_what_is_wrong_also_in_a_very_long_line():
    source = "- " + "x" * 500 + " wrong " + "y" * 500
    diagnosis = Diagnosis(summary="s", at=Location("p.yaml", 1, 504), source=source, span=5)
    _, line, caret, *_ = diagnostics.render([diagnosis], colour=False).splitlines()
    start = caret.index("^")
    assert line[start : start + 5] == "wrong"
    assert len(line) < 120


def test_the_caret_counts_cells_and_not_characters():
    diagnosis = Diagnosis(summary="s", at=Location("p.yaml", 1, 4), source="日本 x", span=1)
    _, line, caret, *_ = diagnostics.render([diagnosis], colour=False).splitlines()
    assert cell_len(line[: line.index("x")]) == caret.index("^")


def test_a_column_beyond_the_line_is_no_accident():
    diagnosis = Diagnosis(summary="s", at=Location("p.yaml", 1, 99), source="abc")
    assert "    abc\n       ^\n" in diagnostics.render([diagnosis], colour=False)


def test_what_is_said_of_several_places_is_said_once():
    lines = (12, 20, 31, 40, 52)
    same = [
        replace(LINT, at=Location("p.yaml", line, 9), step=f"s{line}", remedy=f"pin it at {line}:9") for line in lines
    ]
    (group, other) = alike([*same, WRONG_KEY])
    assert other == (WRONG_KEY,)
    text = diagnostics.render_groups([group], colour=False)
    assert "also at   p.yaml:20:9 (step `s20`), p.yaml:31:9 (step `s31`) and 2 more places\n" in text
    assert text.count("is pinned to nothing") == 1


def test_what_has_no_place_or_says_something_else_stands_alone():
    bare = replace(LINT, at=None)
    every = [bare, bare, LINT, replace(LINT, severity=Severity.ERROR), replace(LINT, remedy="leave it")]
    assert [len(group) for group in alike(every)] == [1] * 5


def test_a_reason_in_the_resolvers_own_words_is_called_a_reason():
    causes = ("Because torch==9 is not there, nothing goes.", "a wheel is missing")
    said = diagnostics.render([replace(LINT, causes=causes)], colour=False)
    assert "  reason    Because torch==9 is not there, nothing goes.\n" in said
    assert "  caused by a wheel is missing" in said
    assert "caused by Because" not in said
