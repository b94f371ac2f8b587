"""Of a file whose content is secret no digest is kept: that of a short secret gives it away."""

import base64
import hashlib
import io
import json
import os
import re
import zlib

import pytest

from stackplan.cli import failure, main
from stackplan.model.quantity import size_text

NEW, OLD = "tr0ub4dor", "c0rrecthorse"
PLAYBOOK = """\
stackplan: 1
name: token
nodes: all
vars:
  token: {secret: true, env: TOKEN}
steps:
  - id: token
    file: {path: ~/token, content: "{{ token }}", mode: 0600}
    postconditions:
      - file: {path: ~/token, mode: 0600}
      - not: {file: {path: ~/token, content: {contains: absent}}}
    always: true
"""
ALGORITHMS = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "blake2b", "blake2s", "sha3_256")
SHORTEST = 12
SIZE = 40_009


def marks(secret):
    """Return what gives `secret` away when it stands in a file: digests of it and of its digests, in hex and base64."""
    found = set()
    for name in ALGORITHMS:
        digest = hashlib.new(name, secret.encode())
        hexadecimal = digest.hexdigest()
        again = hashlib.sha256(json.dumps(hexadecimal).encode()).hexdigest()
        found |= {hexadecimal[:SHORTEST], again[:SHORTEST], base64.b64encode(digest.digest()).decode()[:SHORTEST]}
    return found | {secret}


def texts(folder):
    """Yield every file below `folder` as text, and what is packed in it."""
    for path in sorted(folder.rglob("*")):
        # A snapshot on the node is the file itself, beside the place where it stood.
        if path.is_file() and "snapshots" not in path.parts:
            text = path.read_bytes().decode("utf-8", "replace")
            yield path, text
            for packed in re.findall(r"[A-Za-z0-9+/]{40,}={0,2}", text):
                try:
                    yield path, zlib.decompress(base64.b64decode(packed)).decode("utf-8", "replace")
                except (ValueError, zlib.error):
                    continue


def given_away(folder, secret):
    return sorted({path.name for path, text in texts(folder) for mark in marks(secret) if mark in text})


@pytest.fixture
def stackplan(project, environment, monkeypatch, capsys):
    for name in os.environ:
        monkeypatch.delenv(name)
    monkeypatch.chdir(project)
    (project / "token.yaml").write_text(PLAYBOOK)

    def run(*arguments, secret=NEW):
        with pytest.MonkeyPatch.context() as patch:
            for name, value in {**environment, "TOKEN": secret}.items():
                patch.setenv(name, value)
            patch.setattr("sys.stdin", io.StringIO())
            status = failure.guard(lambda shown: main.run(list(arguments), shown))
        said = capsys.readouterr()
        (project / f"said-{len(list(project.iterdir()))}.txt").write_text(said.out + said.err)
        return status, said.out + said.err

    return run


@pytest.mark.parametrize("there", [NEW, OLD])
def test_neither_plans_nor_facts_nor_journals_hold_a_digest(stackplan, project, tmp_path, there):
    token = tmp_path / "home" / "token"
    token.write_text(there)
    token.chmod(0o600)
    assert stackplan("plan", "token.yaml", "--local", "-o", "plan.json")[0] == 0
    assert stackplan("plan", "token.yaml", "--local", "--format", "json")[0] == 0
    assert stackplan("facts", "token.yaml", "--local", "-o", "facts")[0] == 0
    assert stackplan("apply", "plan.json", "--yes", "--format", "json")[0] == 0
    assert token.read_text() == NEW
    token.unlink()
    for secret in (NEW, OLD):
        assert given_away(tmp_path, secret) == []
    (project / "planted").write_text(json.dumps({"sha256": hashlib.sha256(NEW.encode()).hexdigest()}))
    assert given_away(tmp_path, NEW) == ["planted"], "the search finds what is there"


def test_nor_do_they_hold_its_size(stackplan, project, tmp_path):
    token = tmp_path / "home" / "token"
    token.write_text("x" * SIZE)
    token.chmod(0o600)
    (project / "token.yaml").write_text(PLAYBOOK + "    on_failure: rollback\n")
    secret = "tr0ub4dor" * SIZE
    for command in (["facts", "-o", "facts"], ["plan", "-o", "plan.json"], ["apply", "--yes", "--format", "json"]):
        assert stackplan(command[0], "token.yaml", "--local", *command[1:], secret=secret[:SIZE])[0] == 0
    assert token.read_text() == secret[:SIZE]
    token.unlink()
    sizes = re.compile(rf"{SIZE}|{size_text(SIZE)}|(?<![0-9a-f]){SIZE + 64 * 1024}")
    assert [path.name for path, text in texts(tmp_path) if sizes.search(text)] == []
    (project / "planted").write_text(f"token written, {SIZE} bytes, mode 0600")
    assert [path.name for path, text in texts(tmp_path) if sizes.search(text)] == ["planted"]


def test_a_file_that_was_written_since_makes_the_plan_stale(stackplan, tmp_path):
    token = tmp_path / "home" / "token"
    token.write_text(OLD)
    token.chmod(0o600)
    assert stackplan("plan", "token.yaml", "--local", "-o", "plan.json")[0] == 0
    token.write_text("by-hand-since")
    os.utime(token, ns=(1, 1))
    status, said = stackplan("apply", "plan.json", "--yes")
    assert status == 6
    assert "token has moved since the plan was made" in said
    assert token.read_text() == "by-hand-since"


def test_an_offline_plan_does_not_pretend_to_know_the_content(stackplan, tmp_path):
    (tmp_path / "home" / "token").write_text(OLD)
    assert stackplan("facts", "token.yaml", "--local", "-o", "facts")[0] == 0
    _status, said = stackplan("plan", "token.yaml", "--local", "--facts", "facts")
    assert "its content is secret, and what it was is not recorded" in " ".join(said.split())
