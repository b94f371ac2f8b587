"""Names of distributions come to what `packaging` says of them."""

import itertools

import pytest
from packaging.utils import InvalidName, canonicalize_name

from stackplan.model.pep503 import canonical_name, is_name

NAMES = ["".join(it) for size in range(5) for it in itertools.product("aZ0-_. é\n", repeat=size)]


def said_by_packaging(name):
    try:
        return canonicalize_name(name, validate=True)
    except InvalidName:
        return None


def test_every_short_name_is_what_packaging_says_of_it():
    told = [name for name in NAMES if (canonical_name(name) if is_name(name) else None) != said_by_packaging(name)]
    assert len(NAMES) > 7000
    assert told == []


@pytest.mark.parametrize(
    ("name", "canonical"),
    [("Torch", "torch"), ("nvidia_cublas.cu13", "nvidia-cublas-cu13"), ("flash--attn", "flash-attn")],
)
def test_two_spellings_are_one_name(name, canonical):
    assert canonical_name(name) == canonical
