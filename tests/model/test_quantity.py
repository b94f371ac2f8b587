"""Durations and sizes, read and told."""

import pytest

from stackplan.model.quantity import duration_s, duration_text, size_bytes, size_text


@pytest.mark.parametrize(
    ("text", "seconds"), [("30s", 30), ("5m", 300), ("1h", 3600), ("1h30m", 5400), ("500ms", 0.5), ("1.5h", 5400)]
)
def test_durations(text, seconds):
    assert duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "30", "s", "5 m", "-5s", "1h x", "5M", "1e3s"])
def test_what_is_no_duration(text):
    with pytest.raises(ValueError, match="not a duration"):
        duration_s(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [("512B", 512), ("500MB", 500 * 10**6), ("30GiB", 30 * 2**30), ("1.5 KiB", 1536), ("2kB", 2000), ("1TiB", 2**40)],
)
def test_sizes(text, size):
    assert size_bytes(text) == size


@pytest.mark.parametrize("text", ["", "30", "30 G", "GiB", "-1GB", "30gib", "1e3MB"])
def test_what_is_no_size(text):
    with pytest.raises(ValueError, match="not a size"):
        size_bytes(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.41, "0.4 s"), (9.94, "9.9 s"), (9.96, "10 s"), (59.4, "59 s"), (185, "3 min 05 s"), (3720, "1 h 02 min")],
)
def test_durations_told(seconds, text):
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(512, "512 B"), (1536, "1.5 KiB"), (30 * 2**30, "30.0 GiB"), (200 * 2**20, "200 MiB"), (3 * 2**40, "3.0 TiB")],
)
def test_sizes_told(size, text):
    assert size_text(size) == text
