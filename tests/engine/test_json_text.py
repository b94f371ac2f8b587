"""JSON texts: a reader of many that resemble one another returns for each what reading it alone returns."""

import json
import re
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackplan.engine.encoding import Malformed, typed
from stackplan.engine.json_text import Reader, fault, parse
from stackplan.model.location import Location

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(st.sampled_from(["answers", "format", "node"]), st.lists(PLAIN, max_size=5) | PLAIN)
ODD = [
    b"",
    b" ",
    b"[1, 2]",
    b"{",
    b'{"a": [}',
    b'{"a": [1,]}',
    b'{"a": [{"b": 1},]}',
    b'{"a": [{"b": 1}',
    b'{"a": [{"b": 1}] "c": 2}',
    b'{"a": 1} {}',
    b'{"a": 1,}',
    b"{1: 2}",
    b'{"a" 1}',
    b'{"a": 1, "a": 2}',
    b'{"a": [{"b": 1, "b": 2}]}',
    b"\xef\xbb\xbf{}",
    b"\xff",
    b"{}",
    b' {\n\t"a" : [ ] }\r\n',
    '{"a": [{"b": "\u00e9\\ud83d"}]}'.encode(),
    '{"a": 1}'.encode("utf-16"),
]


def told(read, text):
    try:
        return json.dumps(read(text))
    except RecursionError:
        return "nested too deeply"
    except ValueError as error:
        return type(error), str(error)


@given(st.lists(DOCUMENTS, max_size=4), st.sampled_from([None, 2]))
def test_what_is_read_of_many_texts_is_what_each_alone_says(documents, indent):
    reader = Reader()
    for document in [*documents, *documents[::-1]]:
        text = json.dumps(document, indent=indent).encode()
        assert told(reader.parse, text) == told(parse, text) == json.dumps(document)


@pytest.mark.parametrize("text", ODD)
def test_odd_texts_are_taken_and_refused_in_the_same_words(text):
    reader = Reader()
    reader.parse(b'{"a": [{"b": 1}, {"b": 1}], "c": 2}')
    assert told(reader.parse, text) == told(parse, text)


def test_a_text_nested_too_deeply_is_refused_as_by_itself():
    text = b'{"a": [' + b'{"b": [' * 100_000
    assert told(Reader().parse, text) == told(parse, text)


def test_an_object_that_stood_there_before_is_the_very_same_one():
    reader = Reader()
    first, second = (reader.parse(b'{"a": [{"b": [1]}, {"c": %d}]}' % number) for number in (1, 2))
    assert second["a"][0] is first["a"][0]
    assert second["a"][1] == {"c": 2}


def test_a_number_that_begins_like_the_one_before_is_read_to_its_end():
    reader = Reader()
    assert [reader.parse(text) for text in (b'{"a": [1]}', b'{"a": [12]}')] == [{"a": [1]}, {"a": [12]}]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b'{"a": 1', "it ends early or is damaged at line 1, column 8"),
        (b'{\n"a": }', "it ends early or is damaged at line 2, column 6"),
        (b'{"a": 1, "a": 2}', 'the key "a" stands twice in one object'),
        (b'{"a": ' + b"9" * 5000 + b"}", "a number in it has thousands of digits"),
        (b"[" * 200_000, "it is nested too deeply"),
        (b'{"a": "\xff"}', "it is not UTF-8 from byte 7 on"),
    ],
)
def test_what_is_wrong_with_a_text_is_told_without_advice_to_programmers(text, told):
    with pytest.raises((ValueError, RecursionError), match=r".") as caught:
        parse(text)
    assert fault(caught.value) == told


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"path": "a", "line": 1}, "`column` is missing in an object with `path`, `line`"),
        ({}, "`path` is missing in an object with nothing in it"),
        ({"path": "a", "line": True, "column": 1}, "a whole number is expected, not true"),
        ({"path": "x", "line": "9" * 200, "column": 1}, f'a whole number is expected, not "{"9" * 79}…'),
        ([], "an object is expected, not []"),
    ],
)
def test_data_of_another_form_is_told_in_words_of_json(data, told):
    with pytest.raises(Malformed, match=re.escape(told)):
        typed(data, Location)


@dataclass(frozen=True)
class Timed:
    duration_s: float


def test_a_number_beyond_all_bounds_is_refused():
    with pytest.raises(Malformed, match="a number in it is too large"):
        typed({"duration_s": 10**400}, Timed)
