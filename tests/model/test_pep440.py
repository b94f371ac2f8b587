"""Versions, specifiers and requirements of more digits than Python makes a number of."""

import pytest

from stackplan.model.matcher import Matcher
from stackplan.model.pep440 import InvalidSpecifier, InvalidVersion, SpecifierSet, Version
from stackplan.model.pep508 import InvalidRequirement, Requirement

NINES = "9" * 5000


@pytest.mark.parametrize("text", [NINES, f"1.{NINES}", f"1+{NINES}", f"1.dev{NINES}", f"{NINES}!1"])
def test_a_version_of_too_many_digits_is_none(text):
    with pytest.raises(InvalidVersion, match="more than 600 digits"):
        Version(text)
    with pytest.raises(InvalidSpecifier, match="more than 600 digits"):
        SpecifierSet(f"=={text}")
    with pytest.raises(InvalidRequirement, match="more than 600 digits"):
        Requirement(f"torch=={text}")


def test_others_are_what_packaging_says():
    assert Version("2.10.0+cu130") > Version("2.9")
    assert Version("2.10") in SpecifierSet(">=2,<3")
    assert Requirement("torch>=2").specifier.contains(Version("2.1"))
    with pytest.raises(InvalidVersion):
        Version("two")


def test_what_a_node_answers_is_not_accepted():
    assert not Matcher(version=">=1").accepts(NINES)
    assert not Matcher(at_least="1.0.0").accepts(f"{NINES}.1.0")
