"""A saved plan that somebody edited and signed anew: read as what it says, or refused in words, never a bug."""

import copy
import json
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from stackplan.engine.encoding import Malformed
from stackplan.engine.saved_plan import FORMAT, SavedPlan, decode, encode, sha256_text
from tests.engine.test_saved_plan import saved
from tests.engine.world import bound, step

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=4),
    st.just([]),
    st.just({}),
    st.just([None]),
    st.just({"x": []}),
)


def places(value, path=()):
    """Yield the path of everything in JSON data."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def signed(document):
    content = {key: value for key, value in document.items() if key not in ("format", "sha256")}
    digest = sha256_text(json.dumps(content, sort_keys=True, separators=(",", ":")))
    return json.dumps({"format": FORMAT, "sha256": digest, **content})


@cache
def plan():
    """Not at import: the kinds of the tests are there only while one runs."""
    return saved(bound(step("torch"), step("sglang")), torch="old", sglang="old")


@cache
def plain():
    document = json.loads(encode(plan()))
    return document, sorted(places(document), key=repr)


@settings(max_examples=200, deadline=None)
@given(data=st.data(), value=ODD, gone=st.booleans())
def test_a_plan_with_anything_in_the_place_of_a_field_is_read_or_refused(data, value, gone):
    whole, every = plain()
    path = data.draw(st.sampled_from(every))
    document = holder = copy.deepcopy(whole)
    for key in path[:-1]:
        holder = holder[key]
    if gone:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    said = ""
    found = None
    try:
        found = decode(signed(document))
    except Malformed as error:
        said = str(error)
    assert isinstance(found, SavedPlan) or said


def test_what_is_signed_anew_is_a_plan():
    assert decode(signed(plain()[0])) == plan()
