"""Debian's order of versions: by hand, by its laws, and held to dpkg itself."""

import itertools
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackplan.model.debian_version import compare, debian_specifier

# Each before the next.
ASCENDING = (
    "0~~",
    "0~~a",
    "0~",
    "0",
    "1.0~rc1-1",
    "1.0-1~deb12u1",
    "1.0-1",
    "1.0-1+b1",
    "1.0-1.1",
    "1.0a-1",
    "1.0+dfsg-1",
    "1.2",
    "1.10",
    "2.30.7-1+cuda13.2",
    "2.30.7-1+cuda13.3",
    "580.65.06-0ubuntu1",
    "580.126.09-0ubuntu1",
    "1:0.1",
    "10:0",
)
PIECES = st.text(alphabet="0019aZ.+~", max_size=6)
VERSIONS = st.builds(
    lambda epoch, digit, upstream, revision: f"{epoch}{digit}{upstream}{revision}",
    st.sampled_from(["", "", "0:", "1:"]),
    st.sampled_from(["0", "1", "12"]),
    PIECES,
    st.one_of(st.just(""), PIECES.filter(bool).map(lambda it: f"-{it}")),
)


@pytest.mark.parametrize(("lower", "higher"), tuple(itertools.pairwise(ASCENDING)))
def test_versions_in_order(lower, higher):
    assert (compare(lower, higher), compare(higher, lower), compare(lower, lower)) == (-1, 1, 0)


@pytest.mark.parametrize(("one", "other"), [("1.0", "1.0-0"), ("0:1", "1"), ("1.01", "1.1"), ("1.0-1", "1.00-01")])
def test_versions_that_are_the_same(one, other):
    assert compare(one, other) == 0


@given(VERSIONS, VERSIONS, VERSIONS)
def test_it_is_an_order(one, other, third):
    assert compare(one, other) == -compare(other, one)
    if compare(one, other) <= 0 and compare(other, third) <= 0:
        assert compare(one, third) <= 0


@pytest.mark.skipif(shutil.which("dpkg") is None, reason="needs dpkg")
@settings(max_examples=60, deadline=None)
@given(VERSIONS, VERSIONS)
def test_it_is_dpkgs_order(one, other):
    relation = {-1: "lt", 0: "eq", 1: "gt"}[compare(one, other)]
    argv = ["dpkg", "--compare-versions", one, relation, other]
    assert subprocess.run(argv, check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize(
    ("text", "version", "admitted"),
    [
        ("2.30.7-1", "2.30.7-1", True),
        ("2.30.7-1", "2.30.7-1+cuda13.3", False),
        ("2.30.7-*", "2.30.7-1+cuda13.3", True),
        ("2.30.*", "2.300-1", False),
        ("!=2.30.*", "2.30.7-1", False),
        (">=2.30.7", "2.30.7~rc1", False),
        (">=2.30, <<2.31~", "2.31~rc1", False),
        (">=2.30, <2.31~", "2.30.9-1", True),
        (">> 580.65.06", "580.126.09-0ubuntu1", True),
        ("= 1:7.0", "7.0", False),
        ("<=1.10", "1.9", True),
    ],
)
def test_specifiers(text, version, admitted):
    assert debian_specifier(text).admits(version) is admitted


@pytest.mark.parametrize("text", ["", "~1", "=>1", "1 2", ">=1,,<2", ">=v1", "1_0", ">=1.*", "*"])
def test_texts_that_state_no_version(text):
    with pytest.raises(ValueError, match="is no version"):
        debian_specifier(text)
