import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackplan.node.frames import LIMIT, Decoder, FrameInvalid, encode

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.lists(JSON, max_size=5), st.lists(st.integers(1, 9), min_size=1))
def test_values_come_back_however_the_bytes_are_cut(values: list[object], cuts: list[int]) -> None:
    data = b"".join(map(encode, values))
    decoder, found, turn = Decoder(), [], 0
    while data:
        size = cuts[turn % len(cuts)]
        found += decoder.feed(data[:size])
        data, turn = data[size:], turn + 1
    assert found == values
    assert decoder.pending == b""


@given(st.lists(st.binary(max_size=40), max_size=10))
def test_any_bytes_give_values_or_frame_invalid(chunks: list[bytes]) -> None:
    decoder = Decoder(limit=1000)
    # Anything but FrameInvalid fails here.
    with contextlib.suppress(FrameInvalid):
        for chunk in chunks:
            decoder.feed(chunk)
        assert len(decoder.pending) <= 1004


def test_a_name_that_is_not_utf_8_travels() -> None:
    assert Decoder().feed(encode("caf\udce9")) == ["caf\udce9"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (struct.pack(">I", LIMIT + 1), "claims 67108865 bytes"),
        (struct.pack(">I", 3) + b"{a}", "not JSON"),
        (struct.pack(">I", 3) + b"NaN", "NaN is no JSON"),
        (struct.pack(">I", 2) + b"\xff\xfe", "not JSON"),
        (struct.pack(">I", 200_000) + b"[" * 200_000, "not JSON"),
        (b"Welcome to gpu-01", "claims"),
    ],
)
def test_what_is_no_frame_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(FrameInvalid, match=why):
        Decoder().feed(data)


def test_a_frame_that_is_too_long_is_not_made() -> None:
    with pytest.raises(FrameInvalid, match="longer than"):
        encode("x" * (LIMIT + 1))
