"""The query `library`: real shared objects, compiled here, that real interpreters load."""

import shutil
import subprocess

import pytest

from stackplan.node.context import Context, ProbeFailed
from stackplan.node.queries import library

COMPILER = shutil.which("gcc") or shutil.which("cc")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")
NCCL = "int ncclGetVersion(int *version) { *version = %d; return 0; }"


@pytest.fixture
def build(tmp_path):
    """Return what compiles a library into a folder and leaves a link of its soname beside it."""

    def make(folder, name, source, version=None):
        path = tmp_path / folder / (f"{name}.{version}" if version else name)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = path.parent / "source.c"
        text.write_text(source)
        subprocess.run([COMPILER, "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", path, text], check=True)
        if version:
            (path.parent / name).symlink_to(path.name)
        return path.parent / name

    return make


@pytest.fixture
def ask(tmp_path, environment, root):
    def answer(name, folders=(), **arguments):
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        variables = {"HOME": str(home), "PATH": "/usr/bin:/bin", "SHELL": "/bin/bash"}
        if folders:
            variables["LD_LIBRARY_PATH"] = ":".join(map(str, folders))
        asked = {"name": name, "path": None, **environment.asked, **arguments}
        return library.answer(asked, Context(root=str(root), environment=variables))

    return answer


@pytest.mark.parametrize(("number", "version"), [(22809, "2.28.9"), (23007, "2.30.7"), (2708, "2.7.8")])
def test_nccl_says_its_version(build, ask, number, version):
    path = build("lib", "libnccl.so.2", NCCL % number)
    told = ask("libnccl.so.2", [path.parent])
    assert (told["loaded"], told["version"], told["source"]) == (str(path), version, "ncclGetVersion")
    assert told["library_path"] == str(path.parent)


@pytest.mark.parametrize(
    ("name", "source", "version"),
    [
        ("libcudnn.so.9", "#include <stddef.h>\nsize_t cudnnGetVersion(void) { return 91300; }", "9.13.0"),
        ("libcudnn.so.8", "#include <stddef.h>\nsize_t cudnnGetVersion(void) { return 8907; }", "8.9.7"),
        ("libcudart.so.13", "int cudaRuntimeGetVersion(int *v) { *v = 13010; return 0; }", "13.1"),
        ("libnvrtc.so.12", "int nvrtcVersion(int *a, int *b) { *a = 12; *b = 8; return 0; }", "12.8"),
        ("libcublas.so.13", "int cublasGetProperty(int w, int *v) { *v = 13 - w; return 0; }", "13.12.11"),
    ],
)
def test_others_say_theirs(build, ask, name, source, version):
    path = build("lib", name, source)
    assert ask(name, [path.parent])["version"] == version


def test_a_version_in_the_name_of_the_file(build, ask):
    path = build("lib", "libother.so.1", "int x;", version="2.3")
    told = ask("libother.so.1", [path.parent])
    assert (told["version"], told["source"]) == ("1.2.3", "file name")
    assert told["file"].endswith("libother.so.1.2.3")


def test_a_call_that_fails_leaves_the_name_of_the_file(build, ask):
    path = build("lib", "libnccl.so.2", "int ncclGetVersion(int *v) { return 3; }", version="27.1")
    told = ask("libnccl.so.2", [path.parent])
    assert (told["version"], told["source"]) == ("2.27.1", "file name")


def test_a_call_that_crashes_takes_the_answer_not_along(build, ask):
    path = build("lib", "libnccl.so.2", "int ncclGetVersion(int *v) { *(volatile int *)0 = 1; return 0; }")
    told = ask("libnccl.so.2", [path.parent])
    assert told["loaded"] == str(path)
    assert told["version"] is None
    assert told["call_fault"] == "ncclGetVersion: the interpreter was ended by SIGSEGV"


def test_a_library_that_ends_whoever_loads_it(build, ask):
    source = "#include <signal.h>\n__attribute__((constructor)) static void begin(void) { raise(SIGKILL); }"
    path = build("lib", "libbad.so.1", source)
    with pytest.raises(ProbeFailed, match=r"loading libbad\.so\.1: the interpreter was ended by SIGKILL"):
        ask("libbad.so.1", [path.parent])


def test_none(ask):
    told = ask("libnccl.so.77")
    assert told["loaded"] is None
    assert "libnccl.so.77: cannot open shared object file" in told["fault"]


def test_the_copy_that_torch_has_loaded_counts(build, ask, environment):
    bundled = build("ml-env/lib/bundled", "libnccl.so.2", NCCL % 22809)
    system = build("system", "libnccl.so.2", NCCL % 23007)
    environment.write("torch/__init__.py", f"import ctypes; ctypes.CDLL({str(bundled)!r}, ctypes.RTLD_GLOBAL)\n")
    told = ask("libnccl.so.2", [system.parent], path=str(environment.path))
    assert (told["loaded"], told["version"], told["by_torch"], told["within"]) == (str(bundled), "2.28.9", True, True)
    assert told["others"] == [str(system)]


def test_a_torch_that_does_not_import(build, ask, environment):
    path = build("lib", "libnccl.so.2", NCCL % 22809)
    environment.write("torch/__init__.py", "raise OSError('libcudart.so.12: cannot open')\n")
    told = ask("libnccl.so.2", [path.parent])
    assert told["torch_fault"] == "OSError: libcudart.so.12: cannot open"
    assert (told["loaded"], told["by_torch"]) == (str(path), False)


def test_the_environment_of_a_login(build, ask, tmp_path):
    old = build("old", "libnccl.so.2", NCCL % 21803)
    (tmp_path / "home").mkdir()
    (tmp_path / "home/.profile").write_text(f"echo hello\nexport LD_LIBRARY_PATH={old.parent}:\n")
    told = ask("libnccl.so.2", venv=None, path=str(tmp_path / "elsewhere"))
    assert (told["loaded"], told["version"], told["within"]) == (str(old), "2.18.3", False)
    assert "interpreter" not in told


def test_a_login_that_fails(ask, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home/.profile").write_text("exit 3\n")
    with pytest.raises(ProbeFailed, match="printed nothing of a command as a login shell"):
        ask("libnccl.so.2", venv=None)


def test_no_environment(ask, tmp_path):
    told = ask("libnccl.so.2", venv=str(tmp_path / "none"))
    assert (told["exists"], told["loaded"]) == (False, None)
