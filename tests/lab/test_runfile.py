"""The lab's runfile: the real one's flags, exit statuses and summary."""

import hashlib
import subprocess

import pytest

from stackplan.lab import runfile


@pytest.fixture
def install(tmp_path):
    path = tmp_path / runfile.NAME
    path.write_bytes(runfile.CONTENT)

    def run(*flags):
        return subprocess.run(["/bin/sh", path, *flags], capture_output=True, text=True, check=False, timeout=20)

    return run


def test_the_digest_is_that_of_the_file():
    assert hashlib.sha256(runfile.CONTENT).hexdigest() == runfile.SHA256


def test_the_toolkit_goes_to_the_folder_that_was_asked_for(install, tmp_path):
    target = tmp_path / "a b" / "cuda-13.0"
    done = install("--silent", "--toolkit", f"--toolkitpath={target}", "--override")
    assert done.returncode == 0, done.stderr
    assert f"Toolkit:  Installed in {target}/" in done.stdout
    assert "Driver:   Not Selected" in done.stdout
    nvcc = subprocess.run([target / "bin" / "nvcc", "--version"], capture_output=True, text=True, check=True)
    assert "Cuda compilation tools, release 13.0, V13.0.88" in nvcc.stdout
    assert '"13.0.1"' in (target / "version.json").read_text()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--silent", "--toolkit", "--tolkitpath=/x"), "Unknown option: --tolkitpath=/x"),
        (("--silent",), "brings no driver"),
        (("--silent", "--toolkit", "--driver"), "brings no driver"),
        (("--toolkit",), "without --silent"),
    ],
)
def test_what_the_lab_cannot_do_is_refused_and_leaves_nothing(install, tmp_path, flags, words):
    done = install(*flags)
    assert done.returncode == 1
    assert words in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [runfile.NAME]


def test_a_folder_that_cannot_be_made_is_status_15(install, tmp_path):
    (tmp_path / "file").write_text("")
    assert install("--silent", "--toolkit", f"--toolkitpath={tmp_path}/file/cuda").returncode == 15
