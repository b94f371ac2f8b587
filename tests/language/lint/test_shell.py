"""The commands of a shell text: words, operators, substitutions; and that no text at all makes it fail."""

import shlex

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stackplan.language.lint._shell import DEEPEST, command_of, commands


def told(text):
    return [(it.before, " ".join(it.words), it.after) for it in commands(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b; c", [("", "a b", ";"), (";", "c", "")]),
        ("a &&\n  b || c & d", [("", "a", "&&"), ("&&", "b", "||"), ("||", "c", "&"), ("&", "d", "")]),
        ("a \\\n  b", [("", "a b", "")]),
        ('a "b\\n \\"c\\" \\$d \\\\ e\\\nf"', [("", 'a b\\n "c" $d \\ ef', "")]),
        (
            'P="$HOME/e/bin/pip"\n"$P" a\n$P b',
            [("", "", "\n"), ("\n", "$HOME/e/bin/pip a", "\n"), ("\n", "$HOME/e/bin/pip b", "")],
        ),
        ("a # b; c\nd", [("", "a", "\n"), ("\n", "d", "")]),
        ("a#b 'c # d' \"e ; f\" g\\;h", [("", "a#b c # d e ; f g;h", "")]),
        ("a 2>&1 > /x < y", [("", "a", "")]),
        ("a <<E | b\nc; d\nE\nf", [("", "a", "|"), ("|", "b", "\n"), ("\n", "f", "")]),
        ("a <<-'E F'\n\tc\n\tE F\ng", [("", "a", "\n"), ("\n", "g", "")]),
        ("a $(b; c) `d`", [("", "a $(b; c) `d`", ""), ("", "b", ";"), (";", "c", ")"), ("", "d", "")]),
        ("a $((1 + (2))) ${b:-c d}", [("", "a $((1 + (2))) ${b:-c d}", "")]),
        ("f() { a; }", [(")", "a", ";")]),
        ("if a; then b; else c; fi", [("", "a", ";"), (";", "b", ";"), (";", "c", ";")]),
        ("sh -c 'a | b'", [("", "sh -c a | b", ""), ("", "a", "|"), ("|", "b", "")]),
        ('eval "a; b"', [("", "eval a; b", ""), ("", "a", ";"), (";", "b", "")]),
        ("A=1 sudo -u x -E env B=2 timeout -k 5 10m nohup c d", [("", "c d", "")]),
        ("a '{{ x | join(\" \") }}' {{ y }}", [("", 'a {{ x | join(" ") }} {{ y }}', "")]),
    ],
)
def test_commands(text, expected):
    assert told(text) == expected


def test_what_stands_before_a_program_is_known():
    (command,) = commands("A=1 sudo -u ops env B=2 pip install x > /log 2>&1")
    assert command.program == "pip"
    assert command.wrappers == ("sudo", "env")
    assert command.assignments == ("A=1", "B=2")
    assert command.redirections == ((">", "/log"), ("2>&", "1"))


def test_what_asks_for_a_status_is_known():
    asked = [it.tested for it in commands("if a && b | c; then d; fi; while e; do f; done")]
    assert asked == [True, True, True, False, True, False]


def test_a_shell_of_its_own_has_no_pipefail():
    assert [it.pipefail for it in commands("a | b; bash -c 'c | d'; bash -euo pipefail -c 'e | f'")] == [
        *(True, True, True, False, False, True, True, True)
    ]


def test_pipefail_can_be_switched():
    assert [it.pipefail for it in commands("a\nset +o pipefail\nb\nset -o pipefail\nc")] == [
        True,
        False,
        False,
        True,
        True,
    ]


def test_offsets_lead_to_the_command():
    text = "a; b $(c  d)\n  e"
    assert [text[it.start] for it in commands(text)] == ["a", "b", "c", "e"]


def test_an_argument_list_is_no_shell_text():
    assert [it.words for it in command_of(("echo", "a; b"))] == [("echo", "a; b")]
    assert [it.program for it in command_of(("sudo", "bash", "-c", "a; b"))] == ["bash", "a", "b"]


@given(st.text(alphabet="ab \n\t'\"`$(){}<>|&;#\\=-", max_size=60))
@example("$(" * 40)
@example("<<" * 9)
@example("sh -c 'sh -c \"sh -c a\"'")
@example("`a\\`")
def test_no_text_makes_it_fail(text):
    for it in commands(text):
        assert 0 <= it.start <= len(text)


TOKENS = [
    "if ", "then ", "elif ", "else ", "fi", "for a in b c", "while ", "until ", "do ",
    "done", "case x in ", "a) ", "esac", "{ ", "}", "( ", ")", "(( ",
    "[[ ", " ]]", "f() ", "function g ", "! ", "time ", ";", ";;", "\n",
    " && ", " || ", " | ", " & ", "a=(", "$(", "<(", "`", "'",
    '"', "<<E\n", "\nE\n", "<<< ", "> x", "$A", "${A:-b}", "{{ x }}", "A=1 ",
    "sudo -u b ", "bash -c ", "eval ", "su - c -c ", "find . -exec ", " \\;", "env -S ", "flock 9 ", "set +e",
    "xargs ", "word ", "# ", "python3 -c ",
]  # fmt: skip


@given(st.lists(st.sampled_from(TOKENS), max_size=30).map("".join))
@example("if " * 200)
@example("{ ( " * 100)
@example("bash -c " + "'{ if { ( while { ( if { (" * 3)
@example("eval " * 50 + "{ " * 50)
@example("$( { if ( " * 60)
def test_no_grammar_makes_it_fail(text):
    for it in commands(text):
        assert 0 <= it.start <= len(text)


def test_deep_texts_in_texts_end(codes_of_script):
    text = "a"
    for _ in range(7):
        text = "{ ( if true; then { ( while b; do " * 2 + f"bash -c {shlex.quote(text)}" + "; done ) }; fi ) }" * 2
    assert [it.program for it in commands(text)].count("bash") == DEEPEST + 1
    assert codes_of_script(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a ||\n\n  b", [("", "a", "||"), ("||", "b", "")]),
        ("case $x in a|b) c;; *) d;; esac; e", [(")", "c", ";;"), (")", "d", ";;"), (";", "e", "")]),
        ("for i in 1 2; do a $i; done | b", [(";", "a $i", ";"), ("|", "b", "")]),
        ("{ a; } || ( b )", [("", "a", ";"), ("(", "b", ")")]),
        ("[[ -f a && ! -f b ]] && c", [("", "[[ -f a ! -f b ]]", "&&"), ("&&", "c", "")]),
        ("(( a > 1 )) && b", [("", "(( a > 1 ))", "&&"), ("&&", "b", "")]),
        ("a=(b c) d", [("", "d", "")]),
        ("bash <<E\na | b\nE\nc", [("", "bash", "\n"), ("", "a", "|"), ("|", "b", "\n"), ("\n", "c", "")]),
        ("su - x -c 'a; b'", [("", "su - x -c a; b", ""), ("", "a", ";"), (";", "b", "")]),
        ("find . -exec a {} \\;", [("", "find . -exec a {} ;", ""), ("", "a {}", "")]),
        ("flock -w 5 /x a b", [("", "a b", "")]),
        ("command -v a", [("", "command -v a", "")]),
        ("A='b c'; $A d \"$A\"", [("", "", ";"), (";", "b c d b c", "")]),
        ("A=b; A=c; $A", [("", "", ";"), (";", "", ";"), (";", "$A", "")]),
        ("${A:-b} c", [("", "b c", "")]),
        ('r() { "$@"; }; r 3 a b', [(")", "$@", ";"), (";", "a b", "")]),
    ],
)
def test_what_holds_commands_is_gone_into(text, expected):
    assert told(text) == expected


def test_who_runs_a_command_is_known():
    texts = ["sudo a", "sudo -u b a", "sudo -nu b a", "su - b -c a", "runuser -u b -- a", "sudo -s <<< a", "a"]
    assert [commands(text)[-1].user for text in texts] == ["root", "b", "b", "b", "b", "root", None]


def test_a_here_document_for_a_shell_stands_where_it_is_written():
    text = "bash <<E\n  a\nE\nb"
    assert [text[it.start] for it in commands(text)] == ["b", "a", "b"]
