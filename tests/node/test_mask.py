"""Masks: no secret is left in what a command prints, however the output comes in pieces."""

import base64
import itertools

from hypothesis import given
from hypothesis import strategies as st

from stackplan.model.secret import Redactor
from stackplan.node.mask import Mask

SECRET = "s3cr3t-Tok3n-xyz"
KNOWN = Redactor(frozenset({SECRET}))


def through(data: bytes, cuts: list[int]) -> bytes:
    mask = Mask(list(KNOWN.forms), list(KNOWN.cores))
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return b"".join([*(mask.feed(data[a:b]) for a, b in itertools.pairwise(edges)), mask.end()])


@given(st.binary(max_size=40), st.binary(max_size=40), st.lists(st.integers(0, 1000), max_size=6))
def test_no_cut_lets_a_secret_through(before: bytes, after: bytes, cuts: list[int]) -> None:
    assert SECRET.encode() not in through(before + SECRET.encode() + after, cuts)


@given(st.binary(max_size=20), st.binary(max_size=20), st.lists(st.integers(0, 1000), max_size=6))
def test_nothing_is_left_of_base64(before: bytes, after: bytes, cuts: list[int]) -> None:
    encoded = base64.b64encode(before + SECRET.encode() + after)
    assert through(b"a: " + encoded + b"\nb\n", cuts) == b"a: ***\nb\n"
    assert KNOWN.text(f"a: {encoded.decode()}\nb\n") == "a: ***\nb\n"


@given(st.lists(st.binary(max_size=80), max_size=6))
def test_without_a_secret_everything_passes_at_once(parts: list[bytes]) -> None:
    mask = Mask([], [])
    assert [mask.feed(part) for part in parts] == parts
    assert mask.end() == b""


def test_a_line_without_end_is_not_held_for_ever_and_is_masked_over_its_parts() -> None:
    mask = Mask(list(KNOWN.forms), list(KNOWN.cores))
    told = mask.feed(b"." * 70_000 + SECRET.encode()[:8])
    assert len(told) > 60_000
    told += mask.feed(SECRET.encode()[8:] + b"." * 70_000) + mask.end()
    assert SECRET.encode() not in told
    assert told.count(b"***") == 1
    assert len(told) == 140_003


def test_base64_that_is_wrapped_leaves_no_line() -> None:
    secret = "".join(f"{number:x}-" for number in range(60))
    known = Redactor(frozenset({secret}))
    mask = Mask(list(known.forms), list(known.cores))
    encoded = base64.encodebytes(secret.encode())
    told = mask.feed(encoded) + mask.end()
    assert told == b"***\n" * 3
