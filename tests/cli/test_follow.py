"""A journal that another process writes, followed to its end."""

import threading

import pytest

from stackplan.cli import follow as module
from stackplan.cli.follow import follow
from stackplan.engine.journal import Journal, journal_path
from stackplan.model.diagnosis import Invalid
from stackplan.model.event import OutputSeen, RunEnded, RunStarted
from stackplan.model.outcome import NodeOutcome
from stackplan.model.report import PlaybookIdentity

BEGUN = RunStarted(
    run="R", command="apply", playbook=PlaybookIdentity(name="p", path="p.yaml", sha256="0"), nodes=("a",),
    steps=("s",), time="T", operator="ops",
)  # fmt: skip
SEEN = OutputSeen(node="a", step="s", text="x", time="T")
ENDED = RunEnded(run="R", outcome=NodeOutcome.OK, time="T")


@pytest.fixture
def journal(tmp_path):
    journal = Journal(journal_path(tmp_path, "R"))
    journal.append(BEGUN)
    yield journal
    journal.close()


def test_what_comes_is_told_until_the_run_ends(journal, monkeypatch):
    monkeypatch.setattr(module, "POLL_S", 0.01)
    told = []
    first = threading.Event()

    def tell(event):
        told.append(event)
        first.set()

    thread = threading.Thread(target=follow, args=(journal.path, tell))
    thread.start()
    assert first.wait(15)
    journal.append(SEEN)
    journal.append(ENDED)
    thread.join(15)
    assert told == [BEGUN, SEEN, ENDED]


def test_it_ends_with_the_controller(journal):
    journal.append(SEEN)
    journal.close()
    with journal.path.open("ab") as file:
        file.write(b'{"event":"Run')
    told = []
    follow(journal.path, told.append)
    assert told == [BEGUN, SEEN]


def test_a_line_that_comes_in_pieces_is_one_event(journal, monkeypatch):
    monkeypatch.setattr(module, "_CHUNK", 7)
    journal.append(SEEN)
    journal.append(ENDED)
    told = []
    follow(journal.path, told.append)
    assert told == [BEGUN, SEEN, ENDED]


def test_a_damaged_journal_is_an_error_with_words(journal):
    with journal.path.open("ab") as file:
        file.write(b"no JSON\n")
    with pytest.raises(Invalid, match="cannot be followed"):
        follow(journal.path, lambda event: None)
