"""The queries `shell_cuda` and `link_end`, with real shells whose profiles stand in a folder of the test."""

import shutil
from pathlib import Path

import pytest

from stackplan.node.context import Context, ProbeFailed
from stackplan.node.queries import _fresh_shells, link_end, shell_cuda
from tests.node.waiting import wait_until

NVCC = "#!/bin/sh\necho 'Cuda compilation tools, release {0}, V{0}.88'\n"


@pytest.fixture
def home(tmp_path):
    path = tmp_path / "home"
    path.mkdir()
    return path


@pytest.fixture
def toolkit(tmp_path):
    """Return a maker of toolkits whose nvcc says a release."""

    def make(release):
        path = tmp_path / f"cuda-{release}" / "bin" / "nvcc"
        path.parent.mkdir(parents=True)
        path.write_text(NVCC.format(release))
        path.chmod(0o755)
        return path.parent.parent

    return make


@pytest.fixture
def ask(home, root):
    def rows(shell="/bin/bash"):
        context = Context(root=str(root), environment={"HOME": str(home), "SHELL": shell, "CUDA_HOME": "/not/asked"})
        return {row["shell"]: row for row in shell_cuda.answer({}, context)["shells"]}

    return rows


def test_what_only_the_login_shell_has(home, toolkit, ask):
    new = toolkit("13.0")
    (home / ".profile").write_text(f"echo Welcome to gpu-01\nexport CUDA_HOME={new} PATH={new}/bin:/usr/bin:/bin\n")
    rows = ask()
    login = rows["login"]
    assert (login["cuda_home"], login["cuda_home_leads_to"]) == (str(new), str(new))
    assert (login["nvcc"], login["release"], login["fault"]) == (f"{new}/bin/nvcc", "13.0", None)
    assert rows["non-interactive"]["cuda_home"] is None


def test_another_one_for_everybody_from_the_system(home, root, toolkit, ask):
    old, new = toolkit("12.8"), toolkit("13.0")
    (root / "etc").mkdir()
    (root / "etc/environment").write_text(f'# PAM\nPATH="{old}/bin:/usr/bin:/bin"\nCUDA_PATH={old}\n')
    (home / ".bash_profile").write_text(f"PATH={new}/bin:/usr/bin:/bin\n")
    rows = ask()
    assert {name: row["release"] for name, row in rows.items()} == {"login": "13.0", "non-interactive": "12.8"}
    assert rows["non-interactive"]["cuda_home"] == str(old)


@pytest.mark.skipif(shutil.which("dash") is None, reason="no dash on this machine")
def test_another_shell(home, toolkit, ask):
    new = toolkit("13.0")
    (home / ".profile").write_text(f"PATH={new}/bin:$PATH; export PATH\n")
    assert ask(shutil.which("dash"))["login"]["release"] == "13.0"


def test_an_nvcc_that_says_something_else(home, toolkit, ask):
    new = toolkit("13.0")
    (new / "bin/nvcc").write_text("#!/bin/sh\necho 13.0\n")
    (home / ".profile").write_text(f"PATH={new}/bin:/usr/bin:/bin\n")
    row = ask()["login"]
    assert row["release"] is None
    assert "does not name a release" in row["nvcc_fault"]


def test_a_home_that_does_not_exist(home, ask):
    (home / ".profile").write_text("export CUDA_HOME=/opt/cuda-that-is-gone\n")
    row = ask()["login"]
    assert (row["cuda_home"], row["cuda_home_leads_to"]) == ("/opt/cuda-that-is-gone", None)


def test_a_profile_that_hangs(home, ask, monkeypatch):
    monkeypatch.setattr(_fresh_shells, "TIMEOUT_S", 4.0)
    # It waits for what never comes.
    (home / ".profile").write_text(f"mkfifo {home}/pipe\nread line < {home}/pipe\n")
    rows = ask()
    assert rows["login"]["fault"] == "/bin/bash did not end within 4 s"
    assert rows["login"]["nvcc"] is None
    assert rows["non-interactive"]["fault"] is None


@pytest.mark.parametrize("start", ["setsid sh", "sh"])
def test_what_a_profile_leaves_running_is_ended(home, ask, tmp_path, start):
    left = tmp_path / "left"
    (home / ".profile").write_text(
        f"{start} -c 'echo $$ > {left}; exec sleep 600' >/dev/null 2>&1 &\nuntil [ -s {left} ]; do :; done\n"
    )
    assert ask()["login"]["fault"] is None
    number = int(left.read_text())
    wait_until(lambda: not _sleeps(number))


def _sleeps(number):
    """Return whether a process is there and no zombie."""
    try:
        _, _, rest = Path(f"/proc/{number}/stat").read_text().rpartition("(sleep) ")
    except OSError:
        return False
    return rest[:1] not in ("", "Z", "X")


@pytest.mark.parametrize(
    ("profile", "why"),
    [
        (
            "echo Sup3rhunter2; exit 3\n",
            "printed nothing of a command as a login shell (exit status 3); it printed to its output",
        ),
        (
            "echo Sup3rhunter2 >&2; exit 3\n",
            "printed nothing of a command as a login shell (exit status 3); it printed to its error output",
        ),
        ("exec >/dev/null 2>&1\n", "printed nothing of a command as a login shell (exit status 0)"),
        ("exec cat /dev/null\n", "printed nothing of a command as a login shell (exit status 0)"),
    ],
)
def test_a_profile_that_ends_it(home, ask, profile, why):
    (home / ".profile").write_text(profile)
    assert ask()["login"]["fault"] == f"/bin/bash {why}"


def test_a_user_without_a_shell(ask, programs):
    shell = programs.write("nologin", "echo This account is currently not available.; exit 1")
    assert ask(str(shell))["login"]["fault"].endswith("(exit status 1); it printed to its output")
    assert ask("/no/such/shell")["login"]["fault"] == "there is no program /no/such/shell on this node"


def test_values_of_several_lines_and_noise_behind(home, toolkit, ask):
    new = toolkit("13.0")
    noise = "trap 'echo CUDA_HOME=/wrong' EXIT"
    (home / ".profile").write_text(f"export TEXT='a\nCUDA_HOME=/no' CUDA_HOME={new}\n{noise}\n")
    assert ask()["login"]["cuda_home"] == str(new)


def test_where_a_link_ends(tmp_path, context, refuse):
    end = tmp_path / "cuda-13.0"
    end.mkdir()
    (tmp_path / "alternative").symlink_to(end)
    (tmp_path / "cuda").symlink_to("alternative")
    (tmp_path / "gone").symlink_to("cuda-12.8")
    (tmp_path / "file").touch()
    told = {}
    for name in ("cuda", "cuda-13.0", "gone", "file", "none"):
        answer = link_end.answer({"path": str(tmp_path / name)}, context())
        told[name] = (answer["kind"], answer["leads_to"])
    assert told == {
        "cuda": ("link", str(end)),
        "cuda-13.0": ("folder", str(end)),
        "gone": ("dangling", str(tmp_path / "cuda-12.8")),
        "file": ("file", str(tmp_path / "file")),
        "none": ("missing", None),
    }
    refuse(tmp_path / "loop")
    with pytest.raises(ProbeFailed, match=r"cannot look at .*/loop: Too many levels"):
        link_end.answer({"path": str(tmp_path / "loop")}, context())
