"""What a lab needs before it runs and what it leaves behind."""

import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from stackplan.lab import laboratory, uv
from stackplan.lab.failure import LabFailed
from stackplan.lab.inventory import LabNode, ssh_config_text
from stackplan.lab.laboratory import node_names, running_lab


def test_names_are_as_wide_as_the_largest_number():
    assert node_names(2) == ("gpu-01", "gpu-02")
    assert node_names(100)[0] == "gpu-001"


def test_a_path_may_hold_what_ssh_config_takes_for_a_token_or_an_end():
    text = ssh_config_text([LabNode("gpu-01", 2222, "ssh-ed25519 AAAA")], Path("/a b/50%/id"), Path("/a b/50%/known"))
    assert '  IdentityFile "/a b/50%%/id"\n  UserKnownHostsFile "/a b/50%%/known"\n' in text
    assert "Host gpu-01\n  HostName 127.0.0.1\n  Port 2222\n  User ops\n" in text


def test_a_lab_of_its_own_leaves_no_thread_and_no_file():
    before = threading.active_count()
    with running_lab(1) as lab:
        folder = lab.folder
        assert (folder / "nodes" / "gpu-01" / "home" / "ml-env").is_dir()
    assert not folder.exists()
    assert threading.active_count() == before


def test_a_lab_ends_although_a_command_still_runs(tmp_path):
    with running_lab(1, tmp_path / "lab") as lab:
        process = subprocess.Popen(
            [
                *("ssh", "-F", "/dev/null", "-o", "BatchMode=yes", "-o", f"UserKnownHostsFile={lab.known_hosts}", "-i"),
                *(lab.identity_file, "-p", str(lab.servers["gpu-01"].port), "ops@127.0.0.1", "echo up; sleep 600"),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        with process.stdout:
            assert process.stdout.readline() == b"up\n"
    assert process.wait(10) == 255
    assert (tmp_path / "lab" / "inventory.yaml").is_file()


def test_a_folder_that_cannot_be_used_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LabFailed, match="cannot be set up") as caught, running_lab(1, tmp_path / "file" / "lab"):
        pytest.fail("a lab ran in a file")
    assert str(tmp_path / "file") in caught.value.observed


def test_without_uv_the_message_names_what_to_install(monkeypatch):
    monkeypatch.setattr(uv, "_packaged", lambda: None)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(LabFailed, match="needs uv") as caught, running_lab(1):
        pytest.fail("a lab ran without uv")
    assert ".[lab]" in caught.value.remedy


def test_a_node_that_uv_cannot_make_says_what_uv_said(monkeypatch, tmp_path):
    broken = tmp_path / "uv"
    broken.write_text("#!/bin/sh\necho 'error: the disk is tired' >&2\nexit 2\n")
    broken.chmod(0o755)
    monkeypatch.setattr(laboratory, "find_uv", lambda: broken)
    with pytest.raises(LabFailed, match="exited 2") as caught, running_lab(1):
        pytest.fail("a lab ran on a broken uv")
    assert caught.value.observed == "error: the disk is tired"
