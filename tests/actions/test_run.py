"""`run`: a script as a file in memory, an argv as it stands."""

import pytest

from stackplan.actions.run import KIND
from stackplan.model.diagnosis import Invalid
from stackplan.model.job import Command, Task
from stackplan.model.outcome import Reason
from stackplan.model.secret import Secret


@pytest.fixture
def stage(arguments, facts):
    def build(**values):
        (made,) = KIND.read(arguments(**values)).job(facts({})).stages
        return made

    return build


def test_a_script_is_handed_over_as_a_file(stage):
    made = stage(script="echo one\necho two\n", env={"A": "b"}, cwd="~/x", stdin="text")
    assert isinstance(made, Task)
    assert made.kind == "program"
    assert made.arguments["argv"] == ("bash", "-euo", "pipefail", {"file": "echo one\necho two\n"})
    assert made.arguments["environment"] == {"A": "b"}
    assert made.arguments["cwd"] == "~/x"
    assert made.arguments["stdin"] == "text"
    assert "echo two" in made.display


def test_a_secret_script_is_not_shown(stage, secret):
    made = stage(script=secret)
    assert made.arguments["argv"][-1] == {"file": secret}
    assert "hunter2" not in made.display


def test_an_argv_is_started_as_it_stands(stage, secret):
    made = stage(argv=["echo", "a b", "$HOME"], env={"TOKEN": secret}, cwd="/srv")
    assert isinstance(made, Command)
    assert made.argv == ("echo", "a b", "$HOME")
    assert made.display == "echo 'a b' '$HOME'"
    assert made.cwd == "/srv"
    assert made.environment["TOKEN"] == secret
    assert made.stdin is None


@pytest.mark.parametrize(
    ("values", "summary"),
    [
        ({}, "neither a script nor an argv"),
        ({"script": "true", "argv": ["true"]}, "both a script and an argv"),
        ({"script": "  \n"}, "the script is empty"),
        ({"argv": [""]}, "`argv` names no program"),
        ({"argv": ["echo", Secret("hunter2")]}, "`argv` may not hold a secret"),
        ({"argv": ["echo", "a\0b"]}, "holds a NUL character"),
        ({"script": "echo a\0b"}, "holds a NUL character"),
    ],
)
def test_refused(arguments, values, summary):
    with pytest.raises(Invalid, match=summary):
        KIND.read(arguments(**values))


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"argv": ["nvidia-smi", "-pm", "1"]}, "run nvidia-smi -pm 1"),
        ({"script": "# why\nsystemctl stop x\n"}, "run `systemctl stop x`"),
        ({"script": "a\nb\n"}, "run `a` and one more line"),
        ({"script": "a\nb\nc\n"}, "run `a` and 2 more lines"),
        ({"script": Secret("a\nb\n")}, "run a script of 2 lines"),
    ],
)
def test_describe(arguments, values, text):
    assert KIND.read(arguments(**values)).describe() == text


def test_its_effects_are_not_declared(arguments, facts):
    kind = KIND.read(arguments(script="true"))
    assert not KIND.predicts
    assert kind.queries() == ()
    assert kind.state(facts({})) == {}


@pytest.mark.parametrize(
    ("values", "output", "summary"),
    [
        (
            {"script": "nvidia-smii\n"},
            "/dev/fd/4: line 1: nvidia-smii: command not found\n",
            "There is no program `nvidia-smii` on the PATH of the step (line 1 of the script).",
        ),
        (
            {"argv": ["nope"]},
            "stackplan: there is no program `nope` on this node (PATH /usr/bin)\n",
            "There is no program `nope` on the PATH of the step.",
        ),
    ],
)
def test_a_program_that_is_not_there(arguments, evidence, values, output, summary):
    read = arguments(**values)
    (diagnosis,) = KIND.read(read).diagnose(evidence(read, (), code=127, output=output, reason=Reason.ACTION))
    assert diagnosis.code == "SP241"
    assert diagnosis.summary == summary
    assert KIND.read(read).diagnose(evidence(read, (), code=1, output=output, reason=Reason.ACTION)) == ()


def test_a_tilde_that_no_shell_would_expand_is_refused_at_its_place(arguments):
    with pytest.raises(Invalid, match="`~/x` stays as it is: no shell expands `~` in an `argv`") as caught:
        KIND.read(arguments(argv=["mkdir", "~/x"]))
    (diagnosis,) = caught.value.diagnoses
    assert diagnosis.remedy == "write the whole path, or use `script`"
    assert diagnosis.at.column == 30
