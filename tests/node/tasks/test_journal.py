"""The reason in a unit's journal: found among many lines and in a long one, shown short and without secrets."""

import pytest

from stackplan.node.tasks import _journal

WHY = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
SYSTEMD = (
    "sglang.service: Main process exited, code=exited, status=1/FAILURE",
    "sglang.service: Failed with result 'exit-code'.",
    "sglang.service: Scheduled restart job, restart counter is at 1.",
    "Failed to start sglang.service - SGLang.",
)


@pytest.fixture
def journal(tmp_path, monkeypatch):
    """Return a function that puts a stand-in for journalctl in place: what it prints since a start, and in all."""

    def put(since, every=None):
        for name, text in (("since", since), ("every", since if every is None else every)):
            (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        program = tmp_path / "journalctl"
        program.write_text(
            f'#!/bin/sh\ncase "$*" in *--since=@7*) exec cat {tmp_path}/since;; *) exec cat {tmp_path}/every;; esac\n'
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        return _journal.report("sglang.service", 7)

    return put


def lines(*texts):
    return "".join(f"{text}\n" for text in texts)


def test_a_short_journal_is_told_as_it_is(journal):
    assert journal(lines("loading", WHY)) == f"the last lines of its journal:\n  loading\n  {WHY}"
    assert journal(lines("loading", "bye")) == "the last lines of its journal:\n  loading\n  bye"
    assert journal("") is None


def test_the_reason_is_found_far_above_the_end(journal):
    trace = ("Traceback (most recent call last):", '  File "/x.py", line 3, in load', WHY)
    told = journal(lines("error: retrying", *trace, *(f"stopping worker {it}" for it in range(300)), *SYSTEMD))
    first, second, *rest = told.splitlines()
    assert (first, second) == ("its journal says why:", f"  {WHY}")
    assert rest[0] == "the last lines of its journal:"
    assert rest[-1] == f"  {SYSTEMD[-1]}"
    assert len(rest) == 11


def test_of_several_reasons_the_last_counts_and_what_comes_of_ending_does_not(journal):
    ending = ["asyncio.exceptions.CancelledError: x", "BrokenPipeError: [Errno 32] Broken pipe", *SYSTEMD, *"abcdef"]
    told = journal(lines("KeyError: 'lm_head'", WHY, *ending))
    assert told.splitlines()[1] == f"  {WHY}"


@pytest.mark.parametrize("before", [0, 50_000, 99_000])
def test_a_line_of_100_kilobytes_is_shown_around_what_tells(journal, before):
    long = "x" * before + " " + WHY + " " + "y" * (100_000 - before)
    told = journal(lines("loading", long))
    assert WHY in told
    assert max(map(len, told.splitlines())) <= _journal.SHOWN + 4
    assert ("…x" in told) is (before > 0)


def test_a_journal_beyond_all_measure_costs_no_more_than_it_shows(journal):
    told = journal(
        ("z" * 3_000_000 + "\n" + WHY + "\n" + ("w" * 100_000 + "\n") * 100).encode() + b"\xff\x1b[2J no end"
    )
    assert told.splitlines()[1] == f"  {WHY}"
    assert len(told) < 12 * (_journal.SHOWN + 4)
    assert told.endswith("  \ufffd\x1b[2J no end")


def test_a_secret_is_masked_before_a_line_is_cut(journal):
    arguments = "server_args=ServerArgs(model='/m', " + "a=1, " * 500 + "api_key='Sup3rhunter2', b=2) failed: " + WHY
    told = journal(lines(arguments, "--api-key Sup3rhunter2 --tp 8", "HF_TOKEN=Sup3rhunter2"))
    assert "hunter2" not in told
    assert "api_key='***', b=2)" in told
    assert "--api-key *** --tp 8" in told


def test_what_a_progress_bar_overwrote_is_left_out(journal):
    assert journal(b"10%\r50%\r100% of shards\r\n").endswith("  100% of shards")


def test_a_unit_that_systemd_does_not_start_any_more_is_told_of_by_its_earlier_starts(journal):
    refused = "sglang.service: Start request repeated too quickly."
    told = journal(lines(refused), lines(WHY, *SYSTEMD, "a", "b", "c", refused))
    assert told.splitlines()[1] == f"  {WHY}"
    told = journal(lines("sglang.service: Main process exited, code=killed"), lines(WHY, "a"))
    assert WHY not in told, "an earlier failure says nothing of this one"
