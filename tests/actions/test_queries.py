"""The queries that actions alone ask, on real files: there, not there, not allowed."""

import hashlib
import json
import os

import pytest

from stackplan.node.context import Context, ProbeFailed
from stackplan.node.queries import _environment, installer, record_times, target, toolkit_build


@pytest.fixture
def context(tmp_path):
    return Context(environment={"HOME": str(tmp_path), "PATH": str(tmp_path / "bin"), "UV_INDEX_URL": "https://u:p@x/"})


# ---- target


def test_a_file(tmp_path, context):
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "a").chmod(0o640)
    about = target.answer({"path": "~/a", "follow": True}, context)
    assert (about["kind"], about["size"], about["mode"]) == ("file", 3, "0640")
    assert about["sha256"] == hashlib.sha256(b"abc").hexdigest()
    assert (about["folder"], about["folder_kind"], about["folder_writable"]) == (str(tmp_path), "folder", True)


def test_a_large_file_is_told_apart_by_size_and_time(tmp_path, context, monkeypatch):
    monkeypatch.setattr(target, "HASHED_UP_TO", 2)
    (tmp_path / "a").write_bytes(b"abc")
    about = target.answer({"path": "~/a", "follow": True}, context)
    assert about["sha256"] is None
    assert about["modified_ns"] == (tmp_path / "a").stat().st_mtime_ns


@pytest.mark.parametrize(("follow", "kind"), [(False, "link"), (True, "folder")])
def test_a_link(tmp_path, context, follow, kind):
    (tmp_path / "end").mkdir()
    (tmp_path / "a").symlink_to("end")
    about = target.answer({"path": "~/a", "follow": follow}, context)
    assert about["kind"] == kind
    assert about["target"] == (None if follow else "end")


@pytest.mark.parametrize(
    ("path", "folder_kind"),
    [("~/none", "folder"), ("~/none/a", "missing"), ("~/plain/a", "other"), ("~/dangling/a", "other")],
)
def test_nothing_there(tmp_path, context, path, folder_kind):
    (tmp_path / "plain").write_text("")
    (tmp_path / "dangling").symlink_to("nowhere")
    about = target.answer({"path": path, "follow": False}, context)
    assert (about["kind"], about["folder_kind"]) == ("missing", folder_kind)


def test_a_file_that_may_not_be_looked_at_is_not_absent(tmp_path, context, monkeypatch):
    def refused(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(target.os, "lstat", refused)
    with pytest.raises(ProbeFailed, match="cannot be looked at: Permission denied"):
        target._about("/root/x", context)


# ---- record_times


def test_when_records_were_written(tmp_path, context):
    packages = venv(tmp_path / "env")
    for folder, at in (("Torch-2.10.0", 7), ("torch-2.9.0", 5), ("numpy-2.0", 3)):
        (packages / f"{folder}.dist-info").mkdir()
        (packages / f"{folder}.dist-info" / "RECORD").touch()
        os.utime(packages / f"{folder}.dist-info" / "RECORD", ns=(at, at))
    (packages / "bare-1.dist-info").mkdir()
    (packages / "egg-1.egg-info").touch()
    answer = record_times.answer({"venv": "~/env"}, context)
    assert answer["written"] == {"torch": [5, 7], "numpy": [3]}
    assert answer["path"] == str(tmp_path / "env")


def test_no_environment_has_no_records(context):
    answer = record_times.answer({"venv": "~/none"}, context)
    assert (answer["exists"], answer["written"]) == (False, {})


def test_a_record_that_may_not_be_looked_at_is_not_absent(tmp_path, context, monkeypatch):
    packages = venv(tmp_path / "env")
    (packages / "torch-2.10.0.dist-info").mkdir()

    def refused(path):
        raise PermissionError(13, "Permission denied", path)

    _environment.find({"venv": "~/env"}, context)
    monkeypatch.setattr(record_times.os, "stat", refused)
    with pytest.raises(ProbeFailed, match="RECORD: Permission denied"):
        record_times.answer({"venv": "~/env"}, context)


# ---- installer


def venv(folder):
    packages = folder / "lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "pyvenv.cfg").write_text("")
    (folder / "bin/python").write_text("")
    return packages


def program(path, script):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def ask(context, **values):
    return installer.answer({"venv": "~/venv", "python": None, **values}, context)


def test_an_environment_with_uv_and_pip(tmp_path, context):
    packages = venv(tmp_path / "venv")
    (packages / "pip").mkdir()
    (packages / "pip/__main__.py").write_text("")
    (packages / "pip-26.3.dist-info").mkdir()
    program(tmp_path / "bin/uv", "echo uv 0.13.9")
    about = ask(context)
    assert about["kind"] == "environment"
    assert about["uv"] == {"path": str(tmp_path / "bin/uv"), "version": "0.13.9"}
    assert about["pip"] == {"version": "26.3"}
    assert about["obstacle"] is None
    assert about["interpreter"] == str(tmp_path / "venv/bin/python")
    assert about["ignored"]["variables"] == ["UV_INDEX_URL"]
    assert "u:p@x" not in json.dumps(about)


def test_uv_where_its_installer_puts_it_although_no_profile_says_so(tmp_path, context):
    program(tmp_path / ".local/bin/uv", "echo uv 0.9.5")
    assert ask(context)["uv"]["path"] == str(tmp_path / ".local/bin/uv")


@pytest.mark.parametrize("script", ["exit 1", "echo a wrapper that says nothing"])
def test_a_uv_that_does_not_work_is_none(tmp_path, context, monkeypatch, script):
    monkeypatch.setattr(installer, "UV_PLACES", ())
    program(tmp_path / "bin/uv", script)
    assert ask(context)["uv"] is None


def test_settings_files_are_named(tmp_path, context):
    (tmp_path / ".config/uv").mkdir(parents=True)
    (tmp_path / ".config/uv/uv.toml").write_text("")
    assert "~/.config/uv/uv.toml" in ask(context)["ignored"]["files"]


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda path: None, "missing"),
        (lambda path: path.mkdir(), "empty"),
        (lambda path: (path / "sub").mkdir(parents=True), "folder"),
        (lambda path: path.write_text(""), "other"),
    ],
)
def test_what_is_no_environment(tmp_path, context, make, kind):
    make(tmp_path / "venv")
    about = ask(context)
    assert (about["kind"], about["interpreter"]) == (kind, None)
    assert about["parent"]["path"] == str(tmp_path)


def test_folders_of_somebody_else_stand_in_the_way(tmp_path, context, monkeypatch):
    packages = venv(tmp_path / "venv")
    (packages / "torch").mkdir()
    real = os.access
    monkeypatch.setattr(
        installer.os, "access", lambda path, mode: real(path, mode) and not str(path).endswith("/torch")
    )
    assert ask(context)["obstacle"]["path"] == str(packages / "torch")


def test_a_python_that_could_make_an_environment(tmp_path, context):
    assert ask(context)["python"] is None
    assert ask(context, python="3.12")["python"] is None
    program(tmp_path / "bin/python3.12", "echo 3.12.3")
    assert ask(context, python="3.12")["python"] == {
        "path": str(tmp_path / "bin/python3.12"),
        "version": "3.12.3",
        "venv": True,
    }
    program(tmp_path / "bin/python3", 'case "$*" in *ensurepip*) exit 1;; esac; echo 3.11.2')
    assert ask(context, python="python3")["python"] == {
        "path": str(tmp_path / "bin/python3"),
        "version": "3.11.2",
        "venv": False,
    }


# ---- toolkit_build


def test_a_toolkit_that_is_not_there_yet(tmp_path, context):
    about = toolkit_build.answer({"prefix": "~/local/cuda-13.0", "link": str(tmp_path / "cuda")}, context)
    assert (about["exists"], about["version"], about["apt_get"]) == (False, None, None)
    assert about["place"]["path"] == str(tmp_path)
    assert about["place"]["writable"] is True
    assert about["link"]["kind"] == "missing"


@pytest.mark.parametrize(
    ("text", "version"), [('{"cuda": {"version": "13.0.1"}}', "13.0.1"), ("{", None), ('{"a": 1}', None)]
)
def test_a_toolkit_and_the_common_link(tmp_path, context, text, version):
    prefix = tmp_path / "cuda-13.0"
    prefix.mkdir()
    (prefix / "version.json").write_text(text)
    (tmp_path / "cuda").symlink_to("cuda-13.0")
    about = toolkit_build.answer({"prefix": str(prefix), "link": str(tmp_path / "cuda")}, context)
    assert (about["exists"], about["version"]) == (True, version)
    assert about["link"] == {
        "path": str(tmp_path / "cuda"),
        "kind": "link",
        "target": "cuda-13.0",
        "leads_to": str(prefix),
    }
