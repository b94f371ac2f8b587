"""The audit's question asked of real shells and real folders; profiles as people write them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stackplan.lab.uv import find_uv
from stackplan.node.boot import BOOT
from stackplan.node.context import Context
from stackplan.node.frames import encode
from stackplan.node.queries import _environment_users, _shells, environment_audit
from stackplan.node.queries._audited_variables import MOST_CHARACTERS, masked
from stackplan.node.queries._environment_users import processes, services
from stackplan.node.queries._installer_configuration import configuration
from tests.node.waiting import wait_until

SHELLS = [it for it in map(shutil.which, ("bash", "dash", "zsh", "fish", "tcsh")) if it]
PROFILES = {"bash": ".bash_profile", "dash": ".profile", "zsh": ".zprofile", "fish": ".config/fish/config.fish"}
RC = {"bash": ".bashrc", "zsh": ".zshrc"}


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def node(home, programs):
    """Return a function that makes a context whose user has that login shell."""

    def make(shell="/bin/bash", **variables):
        path = f"{programs.folder}:/usr/bin:/bin"
        return Context(environment={"HOME": str(home), "SHELL": shell, "PATH": path, **variables})

    return make


def asked(context, **arguments):
    found = environment_audit.answer({"venvs": [], "programs": [], "sudo": False, **arguments}, context)
    encode(found)
    return found, {it["name"]: it for it in found["contexts"]}


def profile(home, shell, text, names=PROFILES):
    path = home / names.get(Path(shell).name, ".login")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize("shell", SHELLS)
def test_what_a_login_shell_adds_is_told_apart_from_what_steps_get(shell, home, node, tmp_path):
    nvcc = tmp_path / "cuda-13.0" / "bin" / "nvcc"
    nvcc.parent.mkdir(parents=True)
    nvcc.write_text("#!/bin/sh\n")
    nvcc.chmod(0o755)
    fish = Path(shell).name in ("fish", "tcsh")
    lines = {"CUDA_HOME": str(tmp_path / "cuda-13.0"), "PATH": f"{nvcc.parent}:/usr/bin:/bin"}
    word = "setenv {} {}\n" if Path(shell).name == "tcsh" else "set -gx {} {}\n" if fish else "export {}={}\n"
    profile(home, shell, "".join(word.format(name, value) for name, value in lines.items()))
    told, places = asked(node(shell), programs=["nvcc"])
    assert told["shell"] == shell
    assert places["step"]["programs"] == {"nvcc": None}
    for name in ("login", "interactive"):
        assert places[name]["fault"] is None
        assert places[name]["programs"]["nvcc"]["path"] == str(nvcc)
        assert places[name]["variables"]["CUDA_HOME"] == lines["CUDA_HOME"]
    assert told["toolkits"] == {lines["CUDA_HOME"]: lines["CUDA_HOME"]}


def test_what_stands_behind_the_guard_of_bashrc_is_in_an_interactive_shell_alone(home, node):
    profile(home, "bash", ". ~/.bashrc\n")
    profile(home, "bash", "case $- in *i*) ;; *) return;; esac\nexport UV_INDEX=https://x.test/simple\n", RC)
    _, places = asked(node())
    assert "UV_INDEX" not in places["login"]["variables"]
    assert places["interactive"]["variables"]["UV_INDEX"] == "https://x.test/***"


def test_a_profile_that_hangs_is_given_up(home, node, monkeypatch):
    monkeypatch.setattr(_shells, "PATIENCE_S", 0.5)
    profile(home, "bash", "case $- in *i*) ;; *) exec sleep 600;; esac\n")
    _, places = asked(node())
    assert places["login"]["fault"] == "it did not end within 0.5 s"
    assert places["login"]["variables"] == {}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("exit 3\n", "a test command printed nothing in it (exit status 3)"),
        (
            "echo login failed for token Sup3rhunter2 >&2; exit 1\n",
            "a test command printed nothing in it (exit status 1); it wrote to its error output",
        ),
        ("exec >/dev/null 2>&1\n", "a test command printed nothing in it (exit status 0)"),
        ("exec /bin/true\n", "a test command printed nothing in it (exit status 0)"),
        ("exec /bin/bash\n", "a test command printed nothing in it (exit status 0)"),
        ("exec /bin/cat\n", "a test command printed nothing in it (exit status 0)"),
        ("unset PATH\n", "its profile leaves PATH empty"),
        ("export PATH=\n", "its profile leaves PATH empty"),
        ("head -c 5000000 /dev/zero\n", "it prints more than is read"),
    ],
)
def test_a_profile_that_ends_its_shell(home, node, text, fault):
    profile(home, "bash", text)
    told, places = asked(node(), programs=["env"])
    assert places["login"]["fault"] == fault
    assert (places["login"]["variables"], places["login"]["programs"]) == ({}, {})
    assert places["step"]["programs"]["env"]["path"] == "/usr/bin/env"
    assert [it["role"] for it in told["space"]] == ["cache", "temporary"], "the rest of the audit goes on"


def test_a_profile_that_prints_without_end_is_given_up(home, node, monkeypatch):
    monkeypatch.setattr(_shells, "PATIENCE_S", 2.0)
    profile(home, "bash", "yes\n")
    assert asked(node())[1]["login"]["fault"] == "it did not end within 2 s, and it prints more than is kept"


def test_a_profile_that_sets_no_path_and_reads_is_asked_all_the_same(home, node):
    profile(home, "bash", "read -r answer; printf 'name? '; set -eu; export UV_NO_CACHE=1\n")
    place = asked(node(), programs=["env"])[1]["login"]
    assert (place["fault"], place["noisy"], place["variables"]) == (None, True, {"UV_NO_CACHE": "1"})
    assert place["programs"]["env"]["path"] == "/usr/bin/env"


def test_a_shell_that_is_not_there(node):
    _, places = asked(node("/opt/gone/zsh"))
    assert "there is no program" in places["login"]["fault"]


@pytest.mark.parametrize("shell", ["/usr/sbin/nologin", "/bin/false"])
def test_whoever_cannot_log_in_has_no_login_shell(node, shell):
    told, places = asked(node(shell))
    assert (told["shell"], list(places)) == (None, ["step"])


def test_a_profile_that_prints_whatever_it_likes(home, node):
    profile(home, "bash", "echo welcome; printf '\\377\\033[2K\\0'; yes | head -c 300000; export PIP_PRE=1\n")
    _, places = asked(node())
    assert places["login"]["noisy"] is True
    assert places["login"]["variables"]["PIP_PRE"] == "1"


def test_hostile_values_are_told_as_text_and_short(home, node):
    text = "export TORCH_LOGS=$'a\\nUV_FAKE=1 \\xc3\\xa4 \\xff\\e[2J' PIP_CONSTRAINT=$(printf 'x%.0s' {1..100000})\n"
    profile(home, "bash", text + "export TORCH_HOME= 'UV_A=b'\n")
    _, places = asked(node())
    variables = places["login"]["variables"]
    assert variables["TORCH_LOGS"] == "a\nUV_FAKE=1 ä \ufffd\x1b[2J"
    assert "UV_FAKE" not in variables
    assert variables["TORCH_HOME"] == ""
    assert len(variables["PIP_CONSTRAINT"]) == MOST_CHARACTERS + 1


def test_a_variable_too_large_for_any_program_is_a_fault_of_the_shell(home, node):
    profile(home, "bash", "export UV_INDEX=$(head -c 1000000 /dev/zero | tr '\\0' x)\n")
    _, places = asked(node())
    assert places["login"]["variables"] == {}
    assert "a test command printed nothing in it" in places["login"]["fault"]
    assert places["step"]["fault"] is None


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("UV_INDEX_CORP_PASSWORD", "hunter2", "***"),
        ("TORCH_TOKEN", "hunter2", "***"),
        ("PIP_INDEX_URL", "https://bob:hun/ter2@host/simple", "https://***@host/***"),
        ("UV_INDEX", "https://a/x https://hunter2@b/y", "https://a/*** https://***@b/***"),
        ("UV_INDEX", "https://a/simple?key=hunter2", "https://a/***"),
        ("PIP_INDEX_URL", f"https://bob:{'h' * 400}hunter2@host/", "https://***@host/"),
        ("HTTPS_PROXY", "u:Sup3rhunter2@proxy.example:3128", "***@proxy.example:3128"),
        ("https_proxy", "http://u:Sup3r hunter2@proxy.example:3128", "http://***@proxy.example:3128"),
        ("HTTPS_PROXY", "http://proxy.example:3128", "http://proxy.example:3128"),
        ("NO_PROXY", "localhost,.example", "localhost,.example"),
        ("UV_DEFAULT_INDEX", "//u:Sup3rhunter2@idx/x", "//***@idx/***"),
        ("UV_DEFAULT_INDEX", "https://idx.example/t/Sup3rhunter2/simple", "https://idx.example/***"),
        ("UV_INDEX", "corp=https://u:Sup3rhunter2@idx/x", "corp=https://***@idx/***"),
        ("PIP_FIND_LINKS", "u:Sup3rhunter2@h:/x", "***@h:/***"),
        ("PIP_FIND_LINKS", "/srv/wheels file:///srv/wheels", "/srv/wheels file:///***"),
        ("UV_INDEX_URL", "https://a.test/\nhunter2/simple?token=hunter2", "https://a.test/\n***"),
        ("UV_INDEX_URL", "https://a.test\r\n/hunter2/simple", "https://a.test\r\n***"),
        ("PIP_EXTRA_INDEX_URL", "\n https://bob:hunter2@a/x\n https://b/y\n", "\n https://***@a/***\n https://b/***\n"),
        ("UV_INDEX_URL", "https://bob:hun\nter2@host/simple", "https://***@host/***"),
        ("UV_INDEX_URL", "https://hun ter2@host/simple", "https://***@host/***"),
        ("UV_INDEX_URL", "https://bob:hun\nter2", "https://***\n***"),
        ("UV_INDEX_URL", "https://[::1]:8080/simple", "https://[::1]:8080/***"),
        ("PIP_FIND_LINKS", "/srv/wheels u:hunter2@h/x", "***@h/***"),
        ("PIP_FIND_LINKS", "https://a/x /srv/wheels", "https://a/*** /srv/wheels"),
        ("PIP_CONSTRAINT", "u:Sup3rhunter2@h/x", "***@h/x"),
        ("LD_LIBRARY_PATH", "/opt/gcc@13/lib:/lib", "/opt/gcc@13/lib:/lib"),
        ("CUDA_HOME", "/usr/local/cuda", "/usr/local/cuda"),
        ("https_proxy", "http://proxy:3128/t0ken/abc", "http://proxy:3128/***"),
        ("HTTPS_PROXY", "http://me:pass@proxy:3128/t0ken?x=1", "http://***@proxy:3128/***"),
        ("PIP_PROXY", "http://proxy:3128/", "http://proxy:3128/"),
        ("all_proxy", "proxy:3128", "proxy:3128"),
        ("no_proxy", "localhost,10.0.0.0/8,.a.example", "localhost,10.0.0.0/8,.a.example"),
    ],
)
def test_secrets_do_not_leave_the_node(name, value, shown):
    assert masked(name, value) == shown


def test_what_a_profile_leaves_running_is_ended(home, node, tmp_path):
    left = tmp_path / "left"
    profile(
        home,
        "bash",
        f"(setsid sh -c 'echo $$ > {left}; exec sleep 600' >/dev/null 2>&1 &)\nuntil [ -s {left} ]; do :; done\n",
    )
    program = (
        "import sys, json; from stackplan.node.context import Context; "
        "from stackplan.node.queries.environment_audit import answer; "
        "print(json.dumps(answer({'venvs': [], 'programs': []}, Context())['contexts'][1]['fault']))"
    )
    environment = {**os.environ, "HOME": str(home), "SHELL": "/bin/bash", "PYTHONPATH": str(Path.cwd())}
    # Two shells start one each; whichever wrote its number last.
    argv = [shutil.which("python3"), "-c", program]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "null"
    number = int(left.read_text())
    wait_until(lambda: not _sleeps(number))


def _sleeps(number):
    """Return whether a process is there and no zombie, which nobody may have been there to collect."""
    try:
        _, _, rest = Path(f"/proc/{number}/stat").read_text().rpartition("(sleep) ")
    except OSError:
        return False
    return rest[:1] not in ("", "Z", "X")


def test_sudo_is_asked_where_it_is_wanted(node, programs):
    """A stand-in for sudo that resets the environment, as `env_reset` and `secure_path` do."""
    programs.write("sudo", 'shift 2; exec env -i PATH=/usr/sbin:/usr/bin:/bin HTTPS_PROXY=http://u:p@x/ "$@"')
    uv = programs.write("uv", "true")
    _, places = asked(node(), programs=["uv"], sudo=True)
    assert places["step"]["programs"]["uv"]["path"] == str(uv)
    assert places["sudo"]["variables"] == {"HTTPS_PROXY": "http://***@x/"}
    programs.write("sudo", "echo sudo: a password is required >&2; exit 1")
    _, places = asked(node(), sudo=True)
    assert places["sudo"]["fault"].endswith("sudo: a password is required")


def test_what_stands_in_and_around_an_environment(environment, node, home, tmp_path):
    (tmp_path / "source").mkdir()
    environment.write("editable.pth", f"{tmp_path}/source\nimport sys\n# no\n/nowhere\nown\n")
    environment.write("own/x.py", "")
    environment.write("sitecustomize.py", "")
    link = home / "ml-env"
    link.symlink_to(environment.path)
    configuration_file = environment.path / "pyvenv.cfg"
    configuration_file.write_text(configuration_file.read_text().replace("false", "true"))
    told, _ = asked(node(), venvs=[str(environment.path), "~/gone"])
    found, gone = told["environments"]
    assert found["foreign"] == [{"file": "editable.pth", "folder": f"{tmp_path}/source"}]
    assert found["customized"] == [str(environment.packages / "sitecustomize.py")]
    assert found["system_packages"] is True
    assert found["namesakes"] == [], "a link to it is no other environment"
    assert (gone["exists"], gone["owner"], gone["project"]) == (False, None, None)


def test_an_environment_of_the_same_name(environment, node, home):
    other = home / "ml-env"
    other.mkdir()
    (other / "pyvenv.cfg").write_text("")
    told, _ = asked(node(), venvs=[str(environment.path)])
    assert told["environments"][0]["namesakes"] == [str(other)]


def test_libraries_and_room(node, tmp_path):
    old = tmp_path / "cuda-12.1"
    old.mkdir()
    for name in ("libnvJitLink.so.12", "libnvJitLink.so.12.1.105", "libz.so.1", "libcudart_static.a"):
        (old / name).write_bytes(b"")
    told, _ = asked(node(LD_LIBRARY_PATH=f"{old}::relative:/gone"), venvs=["~/ml-env"])
    assert told["libraries"] == {str(old): ["libnvJitLink.so.12"]}
    assert [it["role"] for it in told["space"]] == ["environment", "cache", "temporary"]
    assert told["space"][0]["filesystem"] == 0


def test_a_process_that_has_files_of_the_environment_mapped(root):
    for pid, maps, cgroup in (
        ("1", "/venv/lib/x.so", "0::/system.slice/sglang.service"),
        ("2", "/venv/lib/y.so", "0::/system.slice/sglang.service"),
        ("3", "/venv-2/lib/x.so", "0::/user.slice"),
        ("4", "/venv/z.so", "0::/"),
    ):
        folder = root / "proc" / pid
        folder.mkdir(parents=True)
        (folder / "cmdline").write_text("" if pid == "4" else "python3")
        (folder / "comm").write_text("python3\n")
        (folder / "maps").write_text(f"7f00-7f01 r-xp 0 08:01 1 {maps}\n")
        (folder / "cgroup").write_text(cgroup)
    (row,) = processes({"~/v": "/venv"}, Context(root=str(root)))
    assert (row["venv"], row["name"], row["unit"], row["count"]) == ("~/v", "python3", "sglang.service", 2)


@pytest.mark.parametrize(
    ("words", "variables", "counts"),
    [
        (("{venv}/bin/python", "-m", "http.server"), {}, True),
        (("{link}/bin/python3", "serve.py"), {}, True),
        (("bin/python", "serve.py"), {}, True),
        (("python", "serve.py"), {"VIRTUAL_ENV": "{venv}"}, True),
        (("python", "serve.py"), {"PATH": "/nowhere:{venv}/bin"}, True),
        (("python", "serve.py"), {"PATH": "{other}/bin:{venv}/bin", "VIRTUAL_ENV": "{venv}"}, False),
        (("{other}/bin/python", "serve.py"), {"VIRTUAL_ENV": "{venv}"}, False),
        (("-bash",), {"VIRTUAL_ENV": "{venv}", "PATH": "{venv}/bin"}, False),
        (("vim", "{venv}/bin/activate"), {"VIRTUAL_ENV": "{venv}", "PATH": "{venv}/bin"}, False),
        (("{venv}-2/bin/python",), {}, False),
        (("{venv}/bin/python", "-I", "-c", BOOT), {}, False),
    ],
)
def test_what_was_started_as_a_program_of_the_environment_runs_from_it(tmp_path, words, variables, counts):
    places = {"venv": tmp_path / "venv", "link": tmp_path / "link", "other": tmp_path / "other"}
    for place in (places["venv"], places["other"]):
        (place / "bin").mkdir(parents=True)
        (place / "bin" / "python").symlink_to("/usr/bin/python3")
    places["link"].symlink_to("venv")
    process = tmp_path / "node" / "proc" / "41"
    process.mkdir(parents=True)
    told = [it if it == BOOT else it.format(**places) for it in words]
    (process / "cmdline").write_text("\0".join([*told, ""]))
    (process / "environ").write_text("\0".join(f"{key}={value.format(**places)}" for key, value in variables.items()))
    (process / "cwd").symlink_to(places["venv"])
    (process / "comm").write_text("python3\n")
    (process / "maps").write_text("7f00-7f01 r-xp 0 08:01 1 /usr/bin/python3.12\n")
    found = processes({"~/v": str(places["venv"])}, Context(root=str(tmp_path / "node")))
    assert [row["venv"] for row in found] == (["~/v"] if counts else [])


def test_what_a_question_asked_at_the_same_time_imports_runs_from_nowhere(tmp_path, monkeypatch):
    library = tmp_path / "x.so"
    library.write_bytes(b"x")
    code = "import mmap, sys; file = open(sys.argv[1], 'r+b'); x = mmap.mmap(file.fileno(), 0)"
    argv = [sys.executable, "-I", "-c", f"{code}; print('mapped', flush=True); input()", library]
    monkeypatch.setattr(_environment_users, "LOOKING_S", 60.0)
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "mapped\n"
        ours = processes({"~/v": str(tmp_path)}, Context())
        monkeypatch.setattr(_environment_users, "of_this_program", set)
        theirs = processes({"~/v": str(tmp_path)}, Context())
        child.communicate("\n")
    assert (ours, [it["count"] for it in theirs]) == ([], [1])


def test_a_unit_that_starts_from_the_environment(node, programs, tmp_path):
    file = tmp_path / "sglang"
    file.write_text('# a comment\nFLASHINFER_DISABLE_VERSION_CHECK=1\nHF_TOKEN="hunter2"\nbroken "\n')
    programs.write(
        "systemctl",
        f"""cat <<'END'
Id=sglang.service
ActiveState=active
User=ops
Environment=A=b "LD_LIBRARY_PATH=/a b"
EnvironmentFiles={file} (ignore_errors=no)
EnvironmentFiles=/gone (ignore_errors=yes)
ExecStart={{ path=/opt/venv/bin/python ; argv[]=/opt/venv/bin/python -m sglang ; ignore_errors=no }}

Id=other.service
ActiveState=active
ExecStart={{ path=/opt/venv-2/bin/python }}

Id=launcher.service
ActiveState=inactive
ExecStart={{ path=/usr/bin/launch }}
END""",
    )
    launcher, unit = services(["/opt/venv"], ["launcher.service", None], node())
    assert (launcher["unit"], launcher["active"], launcher["user"]) == ("launcher.service", False, "root")
    expected = {"A": "b", "LD_LIBRARY_PATH": "/a b", "FLASHINFER_DISABLE_VERSION_CHECK": "1", "HF_TOKEN": "hunter2"}
    assert (unit["unit"], unit["user"], unit["variables"]) == ("sglang.service", "ops", expected)


def test_a_secret_of_a_unit_stays_on_the_node(environment, node, programs):
    start = f"ExecStart={{ path={environment.path}/bin/python }}"
    programs.write(
        "systemctl", f"echo Id=a.service; echo '{start}'; echo 'Environment=HF_TOKEN=hunter2 UV_TOKEN=hunter2'"
    )
    told, _ = asked(node(), venvs=[str(environment.path)])
    assert told["services"][0]["variables"] == {"UV_TOKEN": "***"}
    assert "hunter2" not in str(told)


def settings(found, tool):
    return {Path(it["path"]).name: it["settings"] for it in found if it["tool"] == tool}


def test_configuration_files_and_their_settings(node, home):
    (home / ".config/uv").mkdir(parents=True)
    (home / ".config/uv/uv.toml").write_text(
        'index-url = "https://u:p@x/"\n[pip]\nno-binary = ["a"]\n[[index]]\nname = "x"\nurl = "y"\n'
    )
    (home / "pyproject.toml").write_text('[project]\nname = "x"\n[tool.uv]\nexclude-newer = "2025-01-01T00:00:00Z"\n')
    (home / ".pip").mkdir()
    (home / ".pip/pip.conf").write_text("[global]\nindex-url = https://u:p@x/\n[install]\nno_binary = :all:\n")
    only_home = {"XDG_CONFIG_DIRS": str(home / "none")}
    found = [it for it in configuration(only_home, [], node()) if it["path"].startswith(str(home))]
    assert settings(found, "uv") == {
        "pyproject.toml": ["exclude-newer"],
        "uv.toml": ["index-url", "pip.no-binary", "index.name", "index.url"],
    }
    assert settings(found, "pip") == {"pip.conf": ["global.index-url", "install.no-binary"]}
    (home / ".pip/pip.conf").write_text("index-url = x\n")
    broken = [it for it in configuration(only_home, [], node()) if it["path"].endswith(".pip/pip.conf")]
    assert broken[0]["fault"].startswith("pip cannot read it: File contains no section headers")


def test_uv_reads_the_files_that_are_told(node, home, tmp_path):
    """uv itself refuses the setting that is wrong, in each of the places, and names the file."""
    shared = tmp_path / "xdg"
    places = [home / ".config/uv/uv.toml", shared / "uv/uv.toml", tmp_path / "named.toml"]
    variables = {"XDG_CONFIG_DIRS": str(shared)}
    for path in places:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("index-strategy = 'no such strategy'\n")
        named = {**variables, "UV_CONFIG_FILE": str(path)} if path.name == "named.toml" else variables
        environment = {"HOME": str(home), "PATH": "/usr/bin:/bin", **named}
        argv = [find_uv(), "pip", "list", "--offline"]
        done = subprocess.run(argv, env=environment, cwd=home, capture_output=True, text=True, check=False)
        assert "no such strategy" in done.stderr, f"uv does not read {path}"
        assert str(path) in {it["path"] for it in configuration(named, [], node())}
        path.unlink()
