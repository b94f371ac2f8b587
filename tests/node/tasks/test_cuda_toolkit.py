"""The task `cuda_toolkit`: runfiles that are shell scripts, a fake apt, and the common link put back."""

import hashlib
import os
from typing import NamedTuple

import pytest

from stackplan.node.tasks import cuda_toolkit
from stackplan.node.tasks.cuda_toolkit import perform

# Does what NVIDIA's runfile does, as far as it can be seen: a toolkit in its folder, and the common link moved.
SCRIPT = """#!/bin/sh
echo "$@" > {log}
for word; do
  case "$word" in
    --toolkitpath=*) prefix="${{word#--toolkitpath=}}";;
    --tmpdir=*) work="${{word#--tmpdir=}}";;
  esac
done
test -d "$work" && test "$TMPDIR" = "$work" || exit 15
mkdir -p "$prefix/bin" && echo nvcc > "$prefix/bin/nvcc"
ln -sfn "$prefix" {link}
exit {status}
"""


@pytest.fixture
def site(tmp_path, monkeypatch, web):
    """A node: a home, a folder of toolkits with a common link, a runfile on the server."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    (tmp_path / "home").mkdir()
    (tmp_path / "local").mkdir()
    return Site(tmp_path, web)


class Usage(NamedTuple):
    total: int
    used: int
    free: int


class Site:
    def __init__(self, root, web):
        self.root, self.web = root, web
        self.prefix, self.link, self.log = root / "local/cuda-13.0", root / "local/cuda", root / "log"

    def runfile(self, status=0):
        return SCRIPT.format(log=self.log, link=self.link, status=status).encode()

    def install(self, body=None, digest=None, **values):
        body = body or self.runfile()
        self.web.answers["/cuda.run"] = [{"body": body}]
        about = {
            "method": "runfile",
            "url": self.web.url("/cuda.run"),
            "sha256": digest or hashlib.sha256(body).hexdigest(),
            "prefix": str(self.prefix),
            "link": str(self.link),
            "default": False,
            **values,
        }
        return perform(about)

    def apt(self, script, **values):
        about = {"method": "apt", "prefix": str(self.prefix), "link": str(self.link), "default": False}
        return perform({**about, "argv": ["sh", "-c", script], "environment": {"DEBIAN_FRONTEND": "x"}, **values})

    def left(self):
        return [path.name for path in (self.root / "home/.cache/stackplan/toolkits").iterdir()]


def test_the_toolkit_and_nothing_else(site):
    assert site.install() == 0
    assert (site.prefix / "bin/nvcc").exists()
    words = site.log.read_text().split()
    assert words[:2] == ["--silent", "--toolkit"]
    assert "--override" in words
    assert not [word for word in words if "driver" in word]
    assert not site.link.is_symlink(), "the link that the installer made was taken away again"
    assert site.left() == [], "nothing of 4 GiB is left behind"


def test_the_common_link_leads_where_it_led(site, capfd):
    site.link.symlink_to("cuda-12.8")
    assert site.install() == 0
    assert str(site.link.readlink()) == "cuda-12.8"
    assert "as it was: the step does not say `default: true`" in capfd.readouterr().out


def test_the_common_link_leads_to_it_when_the_step_says_so(site):
    site.link.symlink_to("cuda-12.8")
    assert site.install(default=True) == 0
    assert str(site.link.readlink()) == str(site.prefix)


def test_a_folder_in_place_of_the_link_is_not_replaced(site, capfd):
    site.link.mkdir()
    assert site.install(default=True) == 1
    assert "is a folder, not a link" in capfd.readouterr().out


def test_nothing_is_run_before_the_digest_is_right(site, capfd):
    assert site.install(digest="ab" * 32) == 1
    assert not site.log.exists()
    assert "differs" in capfd.readouterr().out
    assert site.left() == []


def test_a_runfile_on_the_node(site, capfd):
    runfile = site.root / "cuda.run"
    runfile.write_bytes(site.runfile())
    about = {
        "method": "runfile",
        "path": str(runfile),
        "prefix": str(site.prefix),
        "link": str(site.link),
        "default": False,
    }
    assert perform({**about, "sha256": "ab" * 32}) == 1
    assert not site.log.exists()
    assert "It was not run." in capfd.readouterr().out
    assert perform({**about, "sha256": hashlib.sha256(site.runfile()).hexdigest()}) == 0
    assert runfile.exists(), "what we did not fetch we do not remove"
    assert perform({**about, "path": "/no/such.run"}) == 1
    assert "there is no file /no/such.run" in capfd.readouterr().out


def test_a_failure_is_passed_on_and_the_runfile_kept_for_the_next_attempt(site, monkeypatch, tmp_path, capfd):
    log = tmp_path / "cuda-installer.log"
    log.write_text("[INFO]: a\n[ERROR]: boost::filesystem::copy_file: No space left on device\n")
    monkeypatch.setattr(cuda_toolkit, "LOGS", (str(tmp_path / "none"), str(log)))
    site.link.symlink_to("cuda-12.8")
    assert site.install(site.runfile(status=1)) == 1
    assert "[ERROR]: boost::filesystem::copy_file: No space left" in capfd.readouterr().out
    assert str(site.link.readlink()) == "cuda-12.8"
    assert len(site.left()) == 1
    site.web.requests.clear()
    assert site.install(site.runfile(status=1)) == 1
    assert [headers.get("Range") is not None for _, headers in site.web.requests] == [True], "not fetched again"


def test_no_room(site, monkeypatch, capfd):
    monkeypatch.setattr(cuda_toolkit.shutil, "disk_usage", lambda _: Usage(0, 0, 10**9))
    monkeypatch.setattr(cuda_toolkit.os.path, "getsize", lambda _: 10**10)
    runfile = site.root / "cuda.run"
    runfile.write_bytes(site.runfile())
    about = {
        "method": "runfile",
        "path": str(runfile),
        "prefix": str(site.prefix),
        "link": str(site.link),
        "default": False,
    }
    assert perform(about) == 1
    assert "the runfile alone has 10000000000 bytes, 1000000000 are free" in capfd.readouterr().out
    assert not site.log.exists()


def test_a_log_of_somebody_else_is_told_before_the_installer_crashes_on_it(site, monkeypatch, tmp_path, capfd):
    log = tmp_path / "cuda-installer.log"
    log.write_text("")
    monkeypatch.setattr(cuda_toolkit, "RUNFILE_LOG", str(log))
    monkeypatch.setattr(cuda_toolkit.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(cuda_toolkit.os, "access", lambda *_: False)
    assert site.install() == 1
    assert "the CUDA installer has to write it; remove it first" in capfd.readouterr().out
    assert not site.log.exists()


def test_apt_has_its_variables_and_no_input(site, capfd):
    assert site.apt('echo "front $DEBIAN_FRONTEND"; cat; exit 100') == 100
    assert "front x\n" in capfd.readouterr().out


def test_what_the_alternatives_system_moved_is_moved_back(site, monkeypatch, tmp_path):
    alternatives, programs = tmp_path / "alternatives", tmp_path / "bin"
    alternatives.mkdir()
    programs.mkdir()
    for release in ("12.8", "13.0"):
        (site.root / f"local/cuda-{release}").mkdir()
    (alternatives / "cuda").symlink_to(site.root / "local/cuda-12.8")
    site.link.symlink_to(alternatives / "cuda")
    fake = programs / "update-alternatives"
    fake.write_text(f'#!/bin/sh\ntest "$1 $2" = "--set cuda" && ln -sfn "$3" {alternatives}/cuda\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setattr(cuda_toolkit, "ALTERNATIVES", f"{alternatives}/")
    assert site.apt(f"ln -sfn {site.prefix} {alternatives}/cuda") == 0
    assert os.path.realpath(site.link) == str(site.root / "local/cuda-12.8")
    assert str(site.link.readlink()) == str(alternatives / "cuda")
