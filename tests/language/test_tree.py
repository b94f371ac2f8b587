"""Text to tree: positions, scalars as written, and nothing but Invalid for whatever bytes there are."""

import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stackplan.language import tree
from stackplan.language.tree import YamlMapping, YamlScalar, YamlSequence
from stackplan.model.diagnosis import Invalid
from stackplan.model.location import Location

FRAGMENTS = [
    "a",
    "1",
    ": ",
    "- ",
    "\n",
    "  ",
    "{",
    "}",
    "[",
    "]",
    ",",
    "&x ",
    "*x",
    "<<",
    "!!str ",
    '"',
    "'",
    "|\n",
    "#",
    "\t",
    "?",
]
FRAGMENTS += ["---\n", "...\n", "%", "@", "\\", "\ud7ff", "\r\n", "\u2028", "\0", "é", "{{ a }}"]


@pytest.mark.parametrize(
    "text", ["13.0", "3.10", "1e3", "0644", "on", "no", "2026-02-27", "0x1F", "1_000", "~/ml-env", "12:30:45"]
)
def test_scalar_stays_as_written(text):
    found = tree.read_text(f"key: {text}\n", "p.yaml")
    assert isinstance(found, YamlMapping)
    assert found.get("key") == YamlScalar(text, Location("p.yaml", 1, 6))


def test_positions_count_characters_from_one():
    found = tree.read_text('é: "ü"\nlist:\n  - ä\n  - {inner: ö}\n', "p.yaml")
    assert isinstance(found, YamlMapping)
    items = found.get("list")
    assert isinstance(items, YamlSequence)
    inner = items.items[1]
    assert isinstance(inner, YamlMapping)
    assert found.get("é") == YamlScalar("ü", Location("p.yaml", 1, 4), quoted=True)
    assert items.items[0] == YamlScalar("ä", Location("p.yaml", 3, 5))
    assert inner.at == Location("p.yaml", 4, 5)
    assert inner.key_at("inner") == Location("p.yaml", 4, 6)
    assert inner.key_at("absent") == inner.at


def test_byte_order_mark_shifts_no_position():
    found = tree.read_text(tree.decode(b"\xef\xbb\xbfa: b\n", "p.yaml"), "p.yaml")
    assert found == YamlMapping(
        ((YamlScalar("a", Location("p.yaml", 1, 1)), YamlScalar("b", Location("p.yaml", 1, 4))),),
        Location("p.yaml", 1, 1),
    )


@pytest.mark.parametrize(
    ("text", "null"), [("a:", True), ("a: ~", True), ("a: null", True), ("a: ''", False), ('a: "null"', False)]
)
def test_null_is_told_from_a_text(text, null):
    found = tree.read_text(text, "p.yaml")
    assert isinstance(found, YamlMapping)
    value = found.get("a")
    assert isinstance(value, YamlScalar)
    assert value.is_null is null


def test_alias_repeats_its_anchor():
    found = tree.read_text("a: &x {b: c}\nd: *x\n", "p.yaml")
    assert isinstance(found, YamlMapping)
    assert found.get("d") == found.get("a")


def test_tagged_text_is_a_text():
    found = tree.read_text("a: !!str 13.0\n", "p.yaml")
    assert isinstance(found, YamlMapping)
    assert found.get("a") == YamlScalar("13.0", Location("p.yaml", 1, 4), quoted=True)


def test_every_fault_of_structure_is_told():
    with pytest.raises(Invalid, match="stands twice") as caught:
        tree.read_text("a: 1\na: 2\nb: !!set {}\n<<: {}\nb: 3\n", "p.yaml")
    assert [str(it.at) for it in caught.value.diagnoses] == ["p.yaml:2:1", "p.yaml:3:4", "p.yaml:4:1", "p.yaml:5:1"]


def test_file_over_the_limit_is_refused(tmp_path):
    large = tmp_path / "large.yaml"
    large.write_text("a: b\n" * (tree.LARGEST_BYTES // 5 + 1))
    with pytest.raises(Invalid, match="too large"):
        tree.read(large)


@pytest.mark.parametrize("name", ["absent.yaml", ".", "a\0b", "x" * 300])
def test_what_is_no_file_is_refused(tmp_path, name):
    with pytest.raises(Invalid, match=r"no file|is a folder|cannot be read"):
        tree.read(tmp_path / name)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? ", "&a [", "!!x ["])
def test_depth_is_bounded(opening):
    with pytest.raises(Invalid, match=r"deep|fit|bracket|key|tag"):
        tree.read_text(opening * 20_000, "p.yaml")


@given(st.binary(max_size=300))
@example(b"\xff\xfe")
@example(b"a: \xc3")
def test_any_bytes_are_read_or_refused(data):
    with contextlib.suppress(Invalid):
        found = tree.read_text(tree.decode(data, "p.yaml"), "p.yaml")
        assert isinstance(found, (YamlScalar, YamlMapping, YamlSequence))


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join))
@example("? [a]\n: b")
@example("a: &x [*x]")
@example('a: "\\ud800"')
@example("%TAG ! tag:x,2000:\n---\n!a b")
def test_any_text_is_read_or_refused_at_its_place(text):
    faults = ()
    try:
        tree.read_text(tree.decode(text.encode(), "p.yaml"), "p.yaml")
    except Invalid as error:
        faults = error.diagnoses
    assert all(it.at is not None and it.at.line >= 1 and it.at.column >= 1 and it.summary for it in faults)


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=40))
def test_quoted_text_comes_through(text):
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    found = tree.read_text(f'key: "{quoted}"\n', "p.yaml")
    assert isinstance(found, YamlMapping)
    value = found.get("key")
    assert isinstance(value, YamlScalar)
    assert value.text == text
