"""The queries about Python environments, against real virtual environments and small distributions."""

import os
import shutil
import sys
import time

import pytest

from stackplan.node.context import CannotTell, ProbeFailed
from stackplan.node.plain_file import RECORD_LIMIT
from stackplan.node.queries import (
    _installed_libraries,
    _interpret,
    distributions,
    imports,
    python_value,
    records,
    torch,
    torch_arch,
)

VERSION_PY = """from typing import Optional
__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip']
__version__ = '2.10.0+cu128'
debug = False
cuda: Optional[str] = '12.8'
hip: Optional[str] = None
"""


def test_distributions_of_a_venv(environment, context):
    environment.install("torch", "2.10.0+cu128", requires=("filelock", 'jinja2; python_version < "3.13"'))
    environment.install("sgl-kernel", "0.3.21")
    told = distributions.answer(environment.asked, context())
    assert told["path"] == str(environment.path)
    assert told["exists"]
    assert told["environment"]
    assert told["interpreter"] == f"{environment.path}/bin/python"
    assert told["python_version"] == ".".join(map(str, sys.version_info[:3]))
    assert told["markers"]["python_version"] == ".".join(map(str, sys.version_info[:2]))
    assert told["site_packages"] == [str(environment.packages)]
    kernel, found = told["distributions"]
    assert (kernel["name"], kernel["version"], kernel["folder"]) == (
        "sgl-kernel",
        "0.3.21",
        "sgl_kernel-0.3.21.dist-info",
    )
    assert found["requires"] == ["filelock", 'jinja2; python_version < "3.13"']
    assert len(found["record_sha256"]) == 64
    assert found["fault"] is None


def test_a_home_is_expanded(environment, context, tmp_path):
    environment.path.rename(tmp_path / "home" / "ml-env")
    assert distributions.answer({"venv": "~/ml-env"}, context())["environment"]


def test_broken_metadata_still_gives_a_row(environment, context):
    for name in ("gone", "empty", "latin"):
        environment.install(name, "1.0")
    (environment.packages / "gone-1.0.dist-info" / "METADATA").unlink()
    environment.write("empty-1.0.dist-info/METADATA", "")
    environment.write("latin-1.0.dist-info/METADATA", b"Name: latin\nVersion: 1.0\nAuthor: Ren\xe9\n\n")
    environment.write("old-2.0-py3.11.egg-info/PKG-INFO", "Name: old\nVersion: 2.0\n")
    environment.write("~orch-2.10.0.dist-info/METADATA", "Name: torch\nVersion: 2.10.0\n")
    rows = distributions.answer(environment.asked, context())["distributions"]
    assert {row["name"]: (row["version"], row["fault"]) for row in rows} == {
        "gone": ("1.0", "missing-metadata"),
        "empty": ("1.0", "incomplete-metadata"),
        "latin": ("1.0", "not-utf-8"),
        "old": ("2.0", None),
    }


def test_unreadable_metadata_is_not_missing_metadata(environment, context, refuse):
    environment.install("shut", "1.0")
    refuse(environment.packages / "shut-1.0.dist-info" / "METADATA")
    (row,) = distributions.answer(environment.asked, context())["distributions"]
    assert row["fault"] == "unreadable-metadata"


@pytest.fixture(params=["pipe", "endless", "huge"])
def hostile(request):
    """Return a function that puts what cannot be read to its end in a file's place, and returns what is said of it."""

    def place(path):
        path.unlink()
        if request.param == "pipe":
            os.mkfifo(path)
        elif request.param == "endless":
            path.symlink_to("/dev/zero")
        else:
            path.touch()
            os.truncate(path, RECORD_LIMIT + 1)
            return "larger than "
        return "not a regular file"

    return place


def test_a_metadata_that_never_ends_is_unreadable(environment, context, hostile):
    folder = environment.packages / environment.install("torch", "2.10.0")
    why = hostile(folder / "METADATA")
    (row,) = distributions.answer(environment.asked, context())["distributions"]
    assert (row["version"], row["fault"]) == ("2.10.0", "unreadable-metadata")
    assert row["why"].startswith(why)
    found = records.answer(environment.asked, context())["findings"]
    (shown,) = found["unreadable"]["first"]
    assert f"{folder.name}/METADATA" in shown.values()


def test_a_record_that_never_ends_is_unreadable(environment, context, hostile):
    folder = environment.packages / environment.install("torch", "2.10.0")
    why = hostile(folder / "RECORD")
    (row,) = distributions.answer(environment.asked, context())["distributions"]
    assert (row["fault"], row["record_sha256"]) == (None, None)
    (library,) = _installed_libraries._installed(str(environment.packages))
    assert library.fault.startswith(f"{folder.name}/RECORD: {why}")


def test_a_version_file_and_a_configuration_that_never_end(environment, context, hostile):
    why = hostile(environment.write("torch/version.py", ""))
    with pytest.raises(ProbeFailed, match=f"version.py: {why}"):
        torch.answer(environment.asked, context())
    why = hostile(environment.path / "pyvenv.cfg")
    with pytest.raises(ProbeFailed, match=f"pyvenv.cfg: {why}"):
        torch.answer(environment.asked, context())


def test_no_venv_not_a_venv_and_a_dangling_interpreter_are_three_answers(environment, context, tmp_path):
    absent = distributions.answer({"venv": str(tmp_path / "nowhere")}, context())
    assert (absent["exists"], absent["environment"]) == (False, False)
    plain = distributions.answer({"venv": str(tmp_path)}, context())
    assert (plain["exists"], plain["environment"], plain["distributions"]) == (True, False, [])
    environment.install("torch", "2.10.0")
    program = environment.path / "bin" / "python"
    program.unlink()
    program.symlink_to("/usr/bin/python3.nine")
    dangling = distributions.answer(environment.asked, context())
    assert dangling["environment"]
    assert dangling["interpreter"] is None
    assert dangling["interpreter_fault"] == f"{program} leads to /usr/bin/python3.nine, which does not exist"
    assert [row["name"] for row in dangling["distributions"]] == ["torch"]


def test_what_cannot_be_looked_into_is_a_failure(environment, context, refuse):
    refuse(environment.packages)
    with pytest.raises(ProbeFailed, match=r"cannot look into .*site-packages: Too many levels"):
        distributions.answer(environment.asked, context())
    refuse(environment.path)
    for query in (distributions, records, torch):
        with pytest.raises(ProbeFailed, match=r"cannot look into .*ml-env: Too many levels"):
            query.answer(environment.asked, context())


def test_of_two_library_folders_that_of_the_environments_python_counts(environment, context):
    environment.install("torch", "2.10.0")
    (environment.path / "lib" / "python3.2" / "site-packages" / "old-1.0.dist-info").mkdir(parents=True)
    rows = distributions.answer(environment.asked, context())["distributions"]
    assert [row["name"] for row in rows] == ["torch"]


def test_conda_environment(tmp_path, context):
    (tmp_path / "conda-meta").mkdir()
    (tmp_path / "conda-meta" / "python-3.11.7-h955ad1f_0.json").touch()
    (tmp_path / "lib/python3.11/site-packages/numpy-2.1.0.dist-info").mkdir(parents=True)
    told = distributions.answer({"venv": str(tmp_path)}, context())
    assert (told["environment"], told["python_version"]) == (True, "3.11.7")
    assert [row["name"] for row in told["distributions"]] == ["numpy"]


def test_system_packages_are_seen_where_the_venv_inherits_them(environment, context):
    configuration = environment.path / "pyvenv.cfg"
    configuration.write_text(configuration.read_text().replace("packages = false", "packages = true"))
    environment.install("own", "1.0")
    rows = distributions.answer(environment.asked, context())["distributions"]
    assert rows[0]["name"] == "own"
    assert "inherited" not in rows[0]
    assert "pip" in {row["name"] for row in rows if row.get("inherited")}


def test_distributions_of_an_interpreter(environment, context):
    environment.install("torch", "2.10.0")
    told = distributions.answer({"python": str(environment.path / "bin" / "python")}, context())
    assert [row["name"] for row in told["distributions"]] == ["torch"]
    assert told["python_version"] == ".".join(map(str, sys.version_info[:3]))


def test_an_interpreter_that_is_not_there_or_does_not_start(context, programs):
    absent = distributions.answer({"python": "/usr/bin/python3.nine"}, context())
    assert (absent["exists"], absent["environment"]) == (False, False)
    broken = programs.write("python3.broken", "echo 'libpython3.so: not found' >&2; exit 127")
    with pytest.raises(ProbeFailed, match=r"python3\.broken does not start \(exit status 127\)"):
        distributions.answer({"python": str(broken)}, context())
    with pytest.raises(CannotTell, match="neither or both"):
        distributions.answer({}, context())


def test_three_hundred_distributions_are_read_fast(environment, context):
    for number in range(300):
        environment.install(f"package-{number}", "1.0", requires=("numpy>=1.26", "typing-extensions"))
    best = min(_seconds(lambda: distributions.answer(environment.asked, context())) for _ in range(5))
    assert best < 0.15, "budget 0.05 s on a quiet machine"


def test_a_whole_environment_has_no_findings(environment, context):
    environment.install("torch", "2.10.0", {"torch/__init__.py": "", "torch/version.py": VERSION_PY})
    told = records.answer(environment.asked, context())
    assert (told["findings"], told["distributions"], told["files"]) == ({}, 1, 4)


def test_missing_short_and_shared_files_are_found(environment, context):
    environment.install("torch", "2.10.0", {"torch/version.py": VERSION_PY, "torch/b.so": "x" * 90, "torch/c.so": "y"})
    environment.install(
        "nvidia-nccl-cu12", "2.29.3", {"nvidia/__init__.py": "", "nvidia/nccl/lib/libnccl.so.2": "twelve"}
    )
    environment.install("nvidia-nccl-cu13", "2.29.7", {"nvidia/__init__.py": "", "nvidia/nccl/lib/libnccl.so.2": "13"})
    (environment.packages / "torch/version.py").unlink()
    environment.write("torch/b.so", "x" * 40)
    findings = records.answer(environment.asked, context())["findings"]
    assert {kind: [tuple(row.values()) for row in found["first"]] for kind, found in findings.items()} == {
        "missing-file": [("torch", "torch/version.py", None)],
        "wrong-size": [("torch", "torch/b.so", "40 bytes instead of 90")],
        "two-owners": [("nvidia-nccl-cu13", "nvidia/nccl/lib/libnccl.so.2", "also written by nvidia-nccl-cu12")],
    }


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_stands_in_place_of_a_file_and_is_none_is_found(environment, context, make):
    environment.install("torch", "2.10.0", {"torch/a.so": "", "torch/b.so": "x" * 90})
    path = environment.packages / "torch/a.so"
    path.unlink()
    make(path)
    findings = records.answer(environment.asked, context())["findings"]
    assert {kind: [it["path"] for it in found["first"]] for kind, found in findings.items()} == {
        "no-plain-file": ["torch/a.so"]
    }


def test_what_wheels_strew_beside_their_packages_may_have_two_owners_and_not_be_missing(environment, context):
    strewn = ("tests/__init__.py", "README.md", "build_backend.py", "setup.py")
    environment.install("left", "1.0", {**dict.fromkeys(strewn, "left"), "tests/only.py": ""})
    environment.install("right", "1.0", dict.fromkeys(strewn, "right!"))
    assert records.answer(environment.asked, context())["findings"] == {}
    (environment.packages / "tests/only.py").unlink()
    assert set(records.answer(environment.asked, context())["findings"]) == {"missing-file"}


def test_a_module_that_can_be_imported_has_one_owner(environment, context):
    for name in ("left", "right"):
        environment.install(name, "1.0", {"shared.py": name, f"{name}/build_backend.py": "", "pkg/setup.py": name})
    (found,) = records.answer(environment.asked, context())["findings"].values()
    assert [row["path"] for row in found["first"]] == ["shared.py", "pkg/setup.py"]


def test_a_folder_that_is_gone_counts_every_file_and_shows_the_first(environment, context):
    files = {f"torch/ops/op{number:02}.so": "x" for number in range(40)}
    environment.install("torch", "2.10.0", files)
    shutil.rmtree(environment.packages / "torch")
    found = records.answer(environment.asked, context())["findings"]["missing-file"]
    assert found["count"] == 40
    assert len(found["first"]) == records.SHOWN
    assert found["first"][0] == {"distribution": "torch", "path": "torch/ops/op00.so", "detail": None}


def test_two_versions_and_leftovers_and_missing_papers(environment, context):
    environment.install("torch", "2.10.0+cu128")
    environment.install("torch", "2.10.0+cu130")
    (environment.packages / "torch-2.10.0+cu128.dist-info" / "RECORD").unlink()
    environment.install("orphan", "1.0")
    (environment.packages / "orphan-1.0.dist-info" / "METADATA").unlink()
    (environment.packages / "~orch").mkdir()
    findings = records.answer(environment.asked, context())["findings"]
    assert {kind: found["first"][0]["path"] for kind, found in findings.items()} == {
        "two-versions": "torch-2.10.0+cu130.dist-info",
        "missing-record": "torch-2.10.0+cu128.dist-info/RECORD",
        "missing-metadata": "orphan-1.0.dist-info/METADATA",
        "missing-file": "orphan-1.0.dist-info/METADATA",
        "leftover": "~orch",
    }


def test_what_a_record_may_hold_without_alarm(environment, context):
    folder = environment.install("app", "1.0")
    script = environment.path / "bin" / "app"
    script.write_text("#!python")
    absolute = environment.path / "share.txt"
    absolute.write_text("x")
    environment.write("odd, name.txt", "x")
    environment.write(f"{folder}/RECORD.jws", "{}")
    (environment.packages / "linked").symlink_to(environment.path / "bin")
    record = environment.packages / folder / "RECORD"
    rows = [
        "../../../bin/app,sha256=1,8",
        f"{absolute},sha256=2,1",
        '"odd, name.txt",sha256=3,1',
        "app/__pycache__/app.cpython-311.pyc,,",
        "linked/app,sha256=1,8",
        f"{folder}/RECORD.jws,,",
        "",
    ]
    record.write_text(record.read_text() + "\r\n".join(rows))
    assert records.answer(environment.asked, context())["findings"] == {}


def test_a_record_that_is_binary_is_read_as_far_as_it_goes(environment, context):
    folder = environment.install("torn", "1.0")
    environment.write(f"{folder}/RECORD", b"torn/\xff\xfe.so,sha256=1,4\n\x00\x00\x00\x00")
    (row,) = records.answer(environment.asked, context())["findings"]["missing-file"]["first"]
    assert row["path"].startswith("torn/\N{REPLACEMENT CHARACTER}")


def test_what_cannot_be_looked_into_is_said_apart(environment, context, refuse):
    environment.install("torch", "2.10.0", {"torch/version.py": VERSION_PY})
    environment.install("other", "1.0")
    refuse(environment.packages / "torch")
    refuse(environment.packages / "other-1.0.dist-info" / "RECORD")
    refuse(environment.packages / "other-1.0.dist-info" / "METADATA")
    found = records.answer(environment.asked, context())["findings"]
    loop = "Too many levels of symbolic links"
    assert {tuple(row.values()) for row in found.pop("unreadable")["first"]} == {
        ("other", "other-1.0.dist-info/METADATA", loop),
        ("other", "other-1.0.dist-info/RECORD", loop),
        ("torch", f"{environment.packages}/torch", loop),
    }
    assert found == {}


def test_every_folder_is_listed_once_however_many_files_it_holds(environment, context, monkeypatch):
    folders = [f"big/part{number}" for number in range(20)]
    rows = []
    for folder in folders:
        (environment.packages / folder).mkdir(parents=True)
        for number in range(100):
            (environment.packages / folder / f"m{number}.py").touch()
            rows.append(f"{folder}/m{number}.py,sha256=1,0")
    environment.install("big", "1.0")
    (environment.packages / "big-1.0.dist-info" / "RECORD").write_text("\n".join(rows))
    listed = []
    monkeypatch.setattr(records.os, "scandir", lambda path, scandir=os.scandir: listed.append(path) or scandir(path))
    told = []
    best = min(_seconds(lambda: told.append(records.answer(environment.asked, context()))) for _ in range(3))
    assert (told[0]["files"], told[0]["findings"]) == (2000, {})
    assert sorted(listed) == sorted([f"{environment.packages}/{folder}" for folder in folders] * 3)
    assert best < 0.2, "budget 0.03 s on a quiet machine"


def test_records_of_no_venv(context, tmp_path):
    told = records.answer({"venv": str(tmp_path / "nowhere")}, context())
    assert (told["exists"], told["files"], told["findings"]) == (False, 0, {})


def test_torch_is_read_without_being_imported(environment, context):
    environment.write("torch/__init__.py", "raise SystemExit('imported')")
    environment.write("torch/version.py", VERSION_PY)
    told = torch.answer(environment.asked, context())
    assert (told["installed"], told["version"], told["cuda"]) == (True, "2.10.0+cu128", "12.8")


def test_torch_without_cuda(environment, context):
    environment.write("torch/version.py", VERSION_PY.replace("'12.8'", "None").replace("cu128", "cpu"))
    told = torch.answer(environment.asked, context())
    assert (told["installed"], told["version"], told["cuda"]) == (True, "2.10.0+cpu", None)


def test_no_torch_and_no_venv(environment, context, tmp_path):
    assert torch.answer(environment.asked, context())["installed"] is False
    assert torch.answer({"venv": str(tmp_path / "nowhere")}, context())["exists"] is False


def test_a_torch_that_cannot_be_read_is_not_absent(environment, context, refuse):
    refuse(environment.write("torch/version.py", VERSION_PY))
    with pytest.raises(ProbeFailed, match=r"cannot read .*torch/version\.py"):
        torch.answer(environment.asked, context())


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("__version__ = '2.10.0'\n", "does not assign `cuda`"),
        ("cuda = '12.8'\n", "does not assign `__version__`"),
        ("__version__ = \n", "is not readable as Python"),
        ("\x00", "is not readable as Python"),
    ],
)
def test_a_torch_that_does_not_say(environment, context, content, why):
    environment.write("torch/version.py", content)
    with pytest.raises(CannotTell, match=why):
        torch.answer(environment.asked, context())


def test_architectures_are_asked_of_torch(environment, context):
    environment.write("torch/__init__.py", "print('noise')\nimport torch._C\n")
    environment.write("torch/_C.py", "def _cuda_getArchFlags(): return 'sm_75 sm_120'\n")
    assert torch_arch.answer(environment.asked, context())["archs"] == ["sm_75", "sm_120"]


def test_architectures_of_a_torch_that_has_only_the_public_list(environment, context):
    environment.write("torch/__init__.py", "from torch import cuda\n")
    environment.write("torch/cuda.py", "def get_arch_list(): return ['sm_90']\n")
    assert torch_arch.answer(environment.asked, context())["archs"] == ["sm_90"]


def test_a_torch_that_does_not_import_is_a_failure_with_its_last_line(environment, context):
    environment.write("torch/__init__.py", "raise ImportError('libcudart.so.13: cannot open shared object file')\n")
    with pytest.raises(ProbeFailed, match=r"^import torch: ImportError: libcudart\.so\.13: cannot open") as caught:
        torch_arch.answer(environment.asked, context())
    assert "Traceback" in caught.value.stderr


def test_modules_are_imported_one_by_one(environment, context, tmp_path):
    environment.write("good.py", "print('noise on stdout')\n")
    environment.write("leaves.py", "import sys\nsys.exit(3)\n")
    environment.write("dies.py", "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    environment.write("first.py", "import sys\nsys.modules['second'] = sys\n")
    asked = {**environment.asked, "modules": ["good", "absent.part", "leaves", "dies", "first", "second"]}
    assert imports.answer(asked, context())["modules"] == {
        "good": None,
        "absent.part": "ModuleNotFoundError: No module named 'absent'",
        "leaves": "the interpreter ended with exit status 3",
        "dies": "the interpreter was ended by SIGSEGV",
        "first": None,
        "second": "ModuleNotFoundError: No module named 'second'",
    }


TRACEBACK = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    x\n'
MISSING = "libcudart.so.12: cannot open shared object file"
NO_ENCODINGS = "Fatal Python error: init_fs_encoding: failed\nModuleNotFoundError: No module named 'encodings'\n"


@pytest.mark.parametrize(
    ("stderr", "line"),
    [
        (f"warning\n{TRACEBACK}ImportError: no\nmore of it\n", "ImportError: no"),
        (f"{TRACEBACK}ValueError: first\n\nDuring handling:\n\n{TRACEBACK}KeyError: 'b'\n", "KeyError: 'b'"),
        ('  File "a.py", line 1\n    x y\n    ^\nSyntaxError: invalid syntax\n', "SyntaxError: invalid syntax"),
        (f"{NO_ENCODINGS}\n<no Python frame>\n", "Fatal Python error: init_fs_encoding: failed"),
        (
            f"{TRACEBACK}ImportError:\n[k] Could not load!\n\nTried:\n- a: {MISSING}\n- b: {MISSING}\n",
            f"ImportError: [k] Could not load! - a: {MISSING}",
        ),
        (f"{TRACEBACK}AssertionError:\n", "AssertionError:"),
        ("bash: cannot execute binary file\n", "bash: cannot execute binary file"),
        ("", "the interpreter ended with exit status 1"),
    ],
)
def test_an_ending_is_told_by_the_exception(stderr, line):
    assert _interpret.ending(1, stderr) == line


def test_neither_the_current_folder_nor_pythonpath_helps_an_import(environment, context, tmp_path, monkeypatch):
    (tmp_path / "stray.py").touch()
    monkeypatch.chdir(tmp_path)
    looking = context()
    looking._environment["PYTHONPATH"] = str(tmp_path)
    told = imports.answer({**environment.asked, "modules": ["stray"]}, looking)
    assert told["modules"] == {"stray": "ModuleNotFoundError: No module named 'stray'"}


def test_without_an_interpreter_nothing_is_imported(environment, context, tmp_path):
    told = imports.answer({"venv": str(tmp_path / "nowhere"), "modules": ["torch"]}, context())
    assert (told["exists"], told["interpreter"], told["modules"]) == (False, None, {})


@pytest.mark.parametrize(
    ("expr", "names", "told"),
    [
        ("6 * 7", [], ("42", "int", True)),
        (" os.path.basename('/a/b') ", ["os.path"], ("b", "str", True)),
        ("sys.flags.dev_mode", ["sys"], ("False", "bool", False)),
        ("print('noise') or None", [], ("None", "NoneType", False)),
    ],
)
def test_value_of_an_expression(environment, context, expr, names, told):
    found = python_value.answer({**environment.asked, "expr": expr, "imports": names}, context())
    assert (found["text"], found["type"], found["truth"]) == told


def test_an_expression_that_raises_has_no_value(environment, context):
    with pytest.raises(ProbeFailed, match=r"^ZeroDivisionError: division by zero$"):
        python_value.answer({**environment.asked, "expr": "1 / 0", "imports": []}, context())


def test_an_interpreter_that_ends_without_an_answer(environment, context):
    with pytest.raises(ProbeFailed, match="ended without an answer"):
        python_value.answer({**environment.asked, "expr": "os._exit(0)", "imports": ["os"]}, context())


def _seconds(call):
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def test_an_environment_is_found_once_in_a_batch(environment, context):
    batch = context()
    distributions.answer(environment.asked, batch)
    shutil.rmtree(environment.path)
    assert torch.answer(environment.asked, batch)["exists"], "the batch has looked already"
    assert not torch.answer(environment.asked, context())["exists"]
    assert os.path.lexists(environment.path) is False
