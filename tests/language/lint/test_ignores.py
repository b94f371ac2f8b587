"""Comments that answer findings: which steps they speak for, and what is wrong with some of them."""

import pytest

STEP = """
  # {above}
  - id: one  # {beside}
    # {inside}
    run:
      script: |
        reboot
        # {block}
    postconditions:
      - file: {{path: /x}}  # {last}

  # {below}
  - id: two
    run: {{script: reboot}}
    postconditions:
      - file: {{path: /x}}
"""
ANSWER = "stackplan: ignore[SP174] the lab's node"


def with_comment(place, comment=ANSWER):
    places = dict.fromkeys(("above", "beside", "inside", "block", "last", "below"), "words")
    return STEP.format_map(places | {place: comment})


@pytest.mark.parametrize(
    ("place", "left"),
    [("above", ["two"]), ("beside", ["two"]), ("inside", ["two"]), ("last", ["two"]), ("below", ["one"])],
)
def test_a_comment_speaks_for_its_step_alone(review, place, left):
    outcome = review(with_comment(place))
    assert [(it.code, it.step) for it in outcome.findings] == [("SP174", step) for step in left]
    (ignored,) = outcome.ignored
    assert ignored.reason == "the lab's node"
    assert ignored.diagnosis.code == "SP174"


def in_script(*lines):
    block = "".join(f"        {line}\n" for line in lines)
    return f"  - id: one\n    run:\n      script: |\n{block}    postconditions:\n      - file: {{path: /x}}\n"


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        (["reboot  # stackplan: ignore[SP174] the lab's node", "reboot -f"], [9]),
        (["reboot", "# stackplan: ignore[SP174] the lab's node", "reboot -f"], [8]),
        (["# stackplan: ignore[SP174] the lab's node", "# and another word", "reboot -f", "reboot"], [11]),
        (["test -e /x && \\", "  reboot # stackplan: ignore[SP174] the lab's node", "reboot -f"], [10]),
        (["# stackplan: ignore[SP174] the lab's node", "test -e /x ||", "  reboot", "reboot -f"], [11]),
        (["bash <<END", "reboot # stackplan: ignore[SP174] the lab's node", "END", "reboot -f"], [11]),
        (["reboot; # noqa # stackplan: ignore[SP174] the lab's node", "reboot -f"], [9]),
    ],
)
def test_a_comment_in_a_script_speaks_for_its_command_alone(review, lines, left):
    outcome = review(in_script(*lines))
    assert [(it.code, it.at.line) for it in outcome.findings] == [("SP174", line) for line in left]
    (ignored,) = outcome.ignored
    assert ignored.reason == "the lab's node"


def test_a_comment_in_a_script_on_one_line_is_one(review):
    steps = '  - id: one\n    run: {script: "reboot # stackplan: ignore[SP174] the lab"}\n    postconditions:\n'
    outcome = review(f"{steps}      - file: {{path: /x}}\n")
    assert outcome.findings == ()
    assert len(outcome.ignored) == 1


def test_a_comment_in_a_script_that_answers_nothing_is_found(review):
    outcome = review(with_comment("block"))
    assert [(it.code, it.step) for it in outcome.findings] == [("SP174", "one"), ("SP100", "one"), ("SP174", "two")]
    assert outcome.findings[1].source[outcome.findings[1].at.column - 1 :].startswith("# stackplan: ignore")
    assert outcome.ignored == ()


@pytest.mark.parametrize(
    "line",
    ["reboot  # stackplan: ignore[SP174]", "reboot  # stackplan: ignore SP174 why", "reboot # stackplan:ignore[]"],
)
def test_a_comment_in_a_script_that_says_too_little_is_found(review, line):
    assert sorted(it.code for it in review(in_script(line)).findings) == ["SP100", "SP174"]


@pytest.mark.parametrize(
    "lines",
    [
        ["cat > /srv/p.yaml <<'END'", "# stackplan: ignore[SP174] why not", "END"],
        ["echo '# stackplan: ignore[SP174] why not'"],
        ["/opt/x # see `stackplan: ignore[SP174] why` in the docs"],
        ["/opt/x # stackplan: how to ignore a finding"],
    ],
)
def test_words_in_a_script_that_look_like_an_answer_are_none(review, lines):
    outcome = review(in_script(*lines))
    assert (outcome.findings, outcome.ignored) == ((), ())


@pytest.mark.parametrize("before", ["noqa; ", "noqa # ", "yamllint disable-line | ", "see the ticket, "])
def test_a_mark_may_stand_behind_another_comment(review, before):
    outcome = review(with_comment("beside", f"{before}{ANSWER}"))
    assert [it.step for it in outcome.findings] == ["two"]
    assert [it.reason for it in outcome.ignored] == ["the lab's node"]


@pytest.mark.parametrize("comment", ["write `stackplan: ignore[SP174] why`", "the stackplan: ignore comments help"])
def test_a_comment_that_talks_of_answers_is_none(review, comment):
    assert [it.code for it in review(with_comment("beside", comment)).findings] == ["SP174", "SP174"]


@pytest.mark.parametrize(
    ("comment", "summary"),
    [
        ("stackplan: ignore[SP174]", "gives no reason"),
        ("stackplan: ignore[SP174] -", "gives no reason"),
        ("stackplan: ignore SP174 because", "names no code"),
        ("stackplan: ignore[] because", "names no code"),
    ],
)
def test_a_comment_that_says_too_little_answers_nothing(review, comment, summary):
    first, second, third = review(with_comment("beside", comment)).findings
    assert first.code == "SP100"
    assert summary in first.summary
    assert (second.step, third.step) == ("one", "two")


def test_a_code_that_does_not_exist_is_met_with_the_nearest(review):
    stray = next(
        it for it in review(with_comment("beside", "stackplan: ignore[SP1744] why not")).findings if it.code == "SP100"
    )
    assert stray.summary == "there is no rule `SP1744`"
    assert stray.remedy.startswith("did you mean `SP174`")
    assert (stray.at.line, stray.source[stray.at.column - 1]) == (7, "#")


def test_a_comment_that_finds_nothing_to_answer_is_found(review):
    outcome = review(with_comment("beside", "stackplan: ignore[SP174, sp173] the lab's node"))
    stray = next(it for it in outcome.findings if it.code == "SP100")
    assert stray.summary.startswith("SP173 finds nothing here")
    assert len(outcome.ignored) == 1


def test_outside_of_steps_a_comment_speaks_for_the_lines_below_it(review):
    head = "vars:\n  # stackplan: ignore[SP142] other tools read it\n  a: 1\n  b: 2"
    outcome = review(
        head=head, steps="  - id: one\n    checkpoint: {}\n    postconditions:\n      - file: {path: /x}\n"
    )
    assert [(it.code, it.at.line) for it in outcome.findings] == [("SP142", 6)]
    assert [it.diagnosis.at.line for it in outcome.ignored] == [5]


def test_files_that_are_included_have_comments_of_their_own(review, write):
    write("more.yaml", with_comment("beside").replace("\n  ", "\n"))
    outcome = review("  - include: more.yaml\n")
    assert [(it.step, it.at.path) for it in outcome.findings] == [("two", "more.yaml")]
