"""The task `program`: a real bash is handed scripts, standard input and an environment."""

import json
import subprocess
import sys

import pytest

START = (
    "import json, os, sys\n"
    "from stackplan.node.tasks.program import perform\n"
    "about = json.load(open(sys.argv[1]))\n"
    "os.environ.update(about.pop('of_the_step', {}))\n"
    "sys.exit(perform(about))\n"
)


@pytest.fixture
def start(tmp_path):
    """Perform the task in a process of its own, and return how that ended."""

    def run(*argv, login=None, **values):
        about = tmp_path / "arguments.json"
        about.write_text(json.dumps({"argv": list(argv), **values}))
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path), **(login or {})}
        return subprocess.run(
            [sys.executable, "-c", START, str(about)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )

    return run


def bash(script):
    return ("bash", "-euo", "pipefail", {"file": script})


def test_a_script_that_reads_its_input_does_not_eat_itself(start):
    ended = start(*bash("read line\necho got $line\ncat\necho end\n"), stdin="one\ntwo\n")
    assert (ended.returncode, ended.stdout) == (0, "got one\ntwo\nend\n")


def test_without_stdin_there_is_nothing_to_read(start):
    assert start(*bash("cat\necho end\n")).stdout == "end\n"


@pytest.mark.parametrize(
    ("script", "status"),
    [("false\ntrue\n", 1), ("false | true\n", 1), ("echo $no_such_variable\n", 1), ("exit 7\n", 7)],
)
def test_the_first_failure_ends_a_script(start, script, status):
    assert start(*bash(script)).returncode == status


def test_a_script_is_on_no_command_line(start):
    ended = start(*bash("tr '\\0' ' ' < /proc/$$/cmdline; echo; : hunter2-hunter2\n"))
    assert "hunter2" not in ended.stdout
    assert "/dev/fd/" in ended.stdout


def test_no_file_is_left(start, tmp_path):
    ended = start(*bash("echo ran\n"))
    assert ended.stdout == "ran\n"
    assert [path.name for path in tmp_path.iterdir()] == ["arguments.json"]


def test_a_large_script(start):
    assert start(*bash("# " + "x" * 3_000_000 + "\necho ran\n")).stdout == "ran\n"


def test_environment(start):
    ended = start(
        "env",
        login={"UV_INDEX_URL": "login", "PIP_NO_INPUT": "1", "UV_CACHE_DIR": "login", "KEPT": "yes"},
        of_the_step={"UV_CACHE_DIR": "step"},
        drop_environment=["UV_*", "PIP_NO_INPUT"],
        environment={"UV_NO_CONFIG": "1"},
    )
    lines = ended.stdout.splitlines()
    assert {"UV_CACHE_DIR=step", "UV_NO_CONFIG=1", "KEPT=yes"} <= set(lines)
    assert not [line for line in lines if line.startswith(("UV_INDEX_URL", "PIP_"))]


def test_folder(start, tmp_path):
    (tmp_path / "sub").mkdir()
    assert start("pwd", cwd="~/sub").stdout.strip() == str(tmp_path / "sub")
    ended = start("pwd", cwd="~/none")
    assert ended.returncode == 126
    assert "cannot work in ~/none: No such file or directory" in ended.stdout


def test_no_program(start):
    ended = start("no-such-program")
    assert ended.returncode == 127
    assert "there is no program `no-such-program` on this node (PATH /usr/local/bin:/usr/bin:/bin)" in ended.stdout


def test_no_permission(start, tmp_path):
    (tmp_path / "plain").write_text("")
    ended = start(str(tmp_path / "plain"))
    assert ended.returncode == 126
    assert "cannot be started: Permission denied" in ended.stdout
