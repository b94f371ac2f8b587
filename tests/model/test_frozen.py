"""Dataclasses that cost less to make are as those of the standard library, but for the guard over their fields."""

import copy
import dataclasses
import pickle
from dataclasses import field, replace

import pytest

from stackplan.model import frozen
from stackplan.model.location import Location

MAKERS = pytest.mark.parametrize("dataclass", [frozen.dataclass, dataclasses.dataclass], ids=["ours", "library's"])


@MAKERS
def test_fields_decide_about_equality_hash_and_text(dataclass):
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Node:
        name: str
        port: int = 22
        seen: list = field(default_factory=list, compare=False)
        secret: str = field(default="", repr=False)

    one = Node(name="a", seen=[1])
    assert one == Node(name="a", seen=[2])
    assert hash(one) == hash(Node(name="a"))
    assert one != Node(name="a", port=23)
    assert one != ("a", 22, "")
    assert one != dataclasses.make_dataclass("Other", ["name", "port"])("a", 22)
    assert repr(replace(one, secret="x")).endswith("Node(name='a', port=22, seen=[1])")
    with pytest.raises(TypeError, match="positional"):
        Node("a")


@MAKERS
@pytest.mark.parametrize("options", [{}, {"slots": True}])
def test_what_is_not_frozen_has_no_hash(dataclass, options):
    made = dataclass(**options)(type("Made", (), {"__annotations__": {"name": str}}))
    assert made("a") == made("a")
    with pytest.raises(TypeError, match="unhashable"):
        hash(made("a"))


@MAKERS
def test_methods_of_a_class_of_its_own_stay(dataclass):
    @dataclass(frozen=True)
    class Name:
        text: str

        def __eq__(self, other):
            return isinstance(other, Name) and self.text.lower() == other.text.lower()

        def __hash__(self):
            return hash(self.text.lower())

        def __repr__(self):
            return f"<{self.text}>"

    assert Name("A") == Name("a")
    assert len({Name("A"), Name("a")}) == 1
    assert repr(Name("A")) == "<A>"


@MAKERS
def test_an_own_equality_alone_leaves_the_hash_to_the_fields(dataclass):
    @dataclass(frozen=True)
    class Loose:  # noqa: PLW1641 - what the library makes of it is what counts
        number: int

        def __eq__(self, other):
            return isinstance(other, Loose)

    assert Loose(1) == Loose(2)
    assert hash(Loose(1)) == hash(Loose(1)) != hash(Loose(2))


@MAKERS
def test_order_identity_and_no_fields_at_all(dataclass):
    @dataclass(frozen=True, order=True)
    class Version:
        major: int
        minor: int = 0

    @dataclass(eq=False)
    class Thing:
        name: str

    @dataclass(frozen=True)
    class Nothing:
        pass

    assert max(Version(1, 2), Version(1, 10)) == Version(1, 10)
    assert hash(Version(1)) == hash(Version(1))
    assert Thing("a") != Thing("a")
    assert {Thing("a")}
    assert Nothing() == Nothing()
    assert hash(Nothing()) == hash(Nothing())
    assert repr(Nothing()).endswith("Nothing()")


@MAKERS
def test_one_field_that_equals_nothing_equals_itself(dataclass):
    @dataclass(frozen=True)
    class Known:
        value: float

    nothing = float("nan")
    assert Known(nothing) == Known(nothing)


@MAKERS
def test_a_field_may_be_left_out_of_the_hash_alone_and_a_class_without_its_text(dataclass):
    @dataclass(frozen=True, repr=False)
    class Answer:
        name: str
        value: list = field(default_factory=list, hash=False)

    assert hash(Answer("a", [1])) == hash(Answer("a", [2]))
    assert Answer("a", [1]) != Answer("a", [2])
    assert "Answer(" not in repr(Answer("a"))


@MAKERS
def test_a_subclass_compares_its_fields_too(dataclass):
    @dataclass(frozen=True)
    class Base:
        name: str

    @dataclass(frozen=True)
    class More(Base):
        size: int

    assert More("a", 1) != More("a", 2)
    assert More("a", 1) != Base("a")
    assert repr(More("a", 1)).endswith("More(name='a', size=1)")


def test_what_was_made_can_be_copied_and_pickled():
    at = Location("f.yaml", 3, 5)
    assert pickle.loads(pickle.dumps(at)) == copy.deepcopy(at) == at
    assert sorted([Location("f.yaml", 10, 1), at]) == [at, Location("f.yaml", 10, 1)]
