"""The entry point: what is imported when, how words that are wrong are met, and where failures end."""

import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from stackplan import __version__
from stackplan.cli import failure, output
from stackplan.cli.main import COMMANDS, CommandGroup, run
from stackplan.connection.missing_package import missing_package
from stackplan.model.diagnosis import Diagnosis, Invalid

HEAVY = {"paramiko", "fabric", "jsonschema", "jinja2", "rich", "yaml"}
TELL = "import sys; print('\\nLOADED', *sorted({it.split('.')[0] for it in sys.modules}))"


def loaded(environment, *arguments):
    code = f"import sys\nsys.argv[1:] = {list(arguments)!r}\nfrom stackplan.cli.main import main\n"
    code += f"try:\n    main()\nexcept SystemExit:\n    {TELL}"
    ended = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    return set(ended.stdout.rsplit("LOADED", 1)[1].split())


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["nonsense"]])
def test_the_way_in_imports_nothing_heavy(environment, arguments):
    assert loaded(environment, *arguments) & HEAVY <= ({"rich"} if arguments == ["nonsense"] else set())


def test_lint_speaks_to_no_node_and_loads_nothing_that_could(environment, project):
    (project / "p.yaml").write_text("stackplan: 1\nname: p\nnodes: all\nsteps: []\n")
    found = loaded(environment, "lint", str(project / "p.yaml"))
    assert "yaml" in found
    assert not found & {"paramiko", "fabric", "jsonschema"}


NAMES = """stackplan: 1
nodes: all
vars: {path: /etc/hosts, wanted: true}
steps:
  - id: one
    when: wanted
    run: {script: "cat {{ path }}"}
    postconditions: [{file: {path: "{{ path }}"}}]
"""


def test_templates_that_name_variables_need_no_jinja(environment, project):
    (project / "p.yaml").write_text(NAMES)
    assert not loaded(environment, "lint", str(project / "p.yaml")) & {"jinja2", "email", "rich"}
    (project / "p.yaml").write_text(NAMES.replace("when: wanted", "when: not wanted"))
    assert "jinja2" in loaded(environment, "lint", str(project / "p.yaml"))


def test_the_measure_of_imports_would_notice(environment):
    assert "yaml" in loaded(environment, "facts", "--help")


def test_findings_as_text_need_no_rich(environment, project):
    (project / "p.yaml").write_text("stackplan: 1\nname: x\nnodes: gpu\nsteps: 7\n")
    code = f"import sys\nsys.modules['rich'] = None\nsys.argv[1:] = ['lint', {str(project / 'p.yaml')!r}]\n"
    ended = subprocess.run(
        [sys.executable, "-c", f"{code}from stackplan.cli.main import main\nmain()"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stderr.splitlines()) == (2, ["1 problem in 1 playbook."])
    assert "p.yaml:4" in ended.stdout


def test_version(stackplan):
    ended = stackplan("--version")
    assert (ended.returncode, ended.stdout) == (0, f"stackplan {__version__}\n")


def test_every_command_has_a_module_and_says_what_it_does(stackplan):
    group = CommandGroup()
    for word in COMMANDS:
        command = group.get_command(None, word)
        assert command is not None
        assert command.help, word


def test_help_goes_to_standard_output(stackplan):
    ended = stackplan("--help")
    assert ended.returncode == 0
    assert "apply" in ended.stdout
    assert ended.stderr == ""


def test_a_wrong_command_is_met_with_the_nearest(stackplan):
    ended = stackplan("aply", "x.yaml")
    assert ended.returncode == 2
    assert "did you mean `apply`" in ended.stderr
    assert ended.stdout == ""


def test_a_wrong_flag_is_usage(stackplan):
    ended = stackplan("lint", "--fast", "x.yaml")
    assert ended.returncode == 2
    assert "No such option" in ended.stderr


def test_no_command_shows_the_help(stackplan):
    ended = stackplan()
    assert ended.returncode == 2
    assert "Commands:" in ended.stderr


def test_a_bug_is_named_one_and_its_traceback_kept(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("STACKPLAN_STATE", str(tmp_path / "state"))

    def burst(_shown):
        raise ZeroDivisionError("by \x1b[2J zero")

    assert failure.guard(burst) == 1
    (kept,) = (tmp_path / "state" / "bugs").iterdir()
    said = capsys.readouterr()
    assert "this is a bug in stackplan itself (ZeroDivisionError)" in said.err
    assert str(kept) in said.err
    assert "Traceback" not in said.err
    assert "Traceback" in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert said.out == ""


def test_a_bug_with_no_room_for_its_traceback_still_shows_it(capsys, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("STACKPLAN_STATE", str(tmp_path / "file" / "state"))

    def burst(_shown):
        raise ZeroDivisionError

    assert failure.guard(burst) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(("module", "package"), [("paramiko", "paramiko"), ("yaml", "pyyaml")])
def test_a_missing_package_is_no_bug_but_named_with_the_command_that_installs_it(environment, project, module, package):
    (project / "p.yaml").write_text(NAMES)
    hidden = f"""import importlib.abc, sys
class Hiding(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {module!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hiding())
sys.argv[1:] = ["plan", {str(project / "p.yaml")!r}, "-n", "ops@127.0.0.1:1"]
from stackplan.cli.main import main
main()
"""
    ended = subprocess.run(
        [sys.executable, "-c", hidden], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    told = " ".join((ended.stdout + ended.stderr).split())
    assert ended.returncode == {"paramiko": 4, "yaml": 2}[module], told
    assert f"the Python package `{package}`, which stackplan needs, is not installed" in told
    assert f"{sys.executable} -m pip install {package}` mends it" in told
    assert "a bug" not in told
    assert not (project.parent / "state" / "bugs").exists()


def test_a_package_that_is_there_and_fails_is_named_with_its_own_words():
    broken = types.ModuleType("cryptography.hazmat")
    with pytest.raises(ImportError, match="libssl") as caught:
        exec("raise ImportError('libssl.so.3: cannot open shared object file')", broken.__dict__)
    found = missing_package(caught.value)
    assert found is not None
    summary, remedy = found
    assert "`cryptography`, which stackplan needs, cannot be imported (libssl.so.3: cannot open" in summary
    assert remedy.endswith("-m pip install --force-reinstall cryptography` mends it")


def test_a_name_that_stackplan_itself_lacks_is_a_bug(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("STACKPLAN_STATE", str(tmp_path / "state"))

    def burst(_shown):
        raise ModuleNotFoundError("No module named 'stackplan.nothing'", name="stackplan.nothing")

    assert failure.guard(burst) == 1
    assert "this is a bug in stackplan itself (ModuleNotFoundError)" in capsys.readouterr().err


def test_invalid_input_gives_diagnoses_on_standard_error(capsys):
    def refuse(_shown):
        raise Invalid([Diagnosis(summary="there is no playbook x", remedy="did you mean `y`?")])

    assert failure.guard(refuse) == 2
    said = capsys.readouterr()
    assert said.err == "there is no playbook x\n  remedy    did you mean `y`?\n"
    assert said.out == ""


def test_invalid_input_with_format_json_is_also_a_document(capsys):
    def refuse(shown: output.Shown):
        shown.form = "json"
        raise Invalid([Diagnosis(summary="wrong")])

    assert failure.guard(refuse) == 2
    assert '"format": "stackplan.diagnoses/1"' in capsys.readouterr().out


@pytest.mark.parametrize("ended", [KeyboardInterrupt])
def test_an_interruption_is_130(capsys, ended):
    def interrupt(_shown):
        raise ended

    assert failure.guard(interrupt) == 130
    assert capsys.readouterr().err == "Interrupted.\n"


def test_arguments_that_are_not_utf8_are_no_bug(stackplan):
    ended = stackplan("lint", "\udcff.yaml")
    assert ended.returncode == 2
    assert "\\udcff.yaml" in ended.stdout


def test_a_reader_that_goes_away_is_no_failure(environment, project):
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [sys.executable, "-m", "stackplan", "schema", "report"],
        cwd=project, env=environment, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
    )  # fmt: skip
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_under_standard_output_is_said(environment, project):
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "stackplan", "schema", "report"],
            cwd=project, env=environment, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert ended.returncode == 2
    assert "could not be written to standard output: No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_run_returns_the_status_of_the_command(capsys):
    assert run(["schema"], output.Shown()) == 0
    assert "playbook" in capsys.readouterr().out.split()


@pytest.mark.parametrize(
    ("changes", "terminal", "wanted"),
    [({}, True, True), ({}, False, False), ({"NO_COLOR": "1"}, True, False), ({"TERM": "dumb"}, True, False)],
)
def test_colour_is_for_terminals_that_want_it(monkeypatch, changes, terminal, wanted):
    class Stream:
        def isatty(self):
            return terminal

    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in changes.items():
        monkeypatch.setenv(name, value)
    assert output.wants_colour(Stream()) is wanted
