"""`symlink`: only links are replaced."""

import pytest

from stackplan.actions._target import target_query
from stackplan.actions.symlink import KIND
from stackplan.model.diagnosis import Invalid
from stackplan.model.kind import CannotAct

PATH, TARGET = "/usr/local/cuda", "/usr/local/cuda-13.0"
PLACE = {
    "user": "root",
    "folder": "/usr/local",
    "folder_kind": "folder",
    "folder_owner": "root",
    "folder_writable": True,
}
QUERY = target_query(PATH, follow=False)


@pytest.mark.parametrize("kind", ["missing", "link"])
def test_a_link_is_made(arguments, facts, kind):
    (task,) = KIND.read(arguments(path=PATH, target=TARGET)).job(facts({QUERY: {**PLACE, "kind": kind}})).stages
    assert (task.kind, task.arguments) == ("symlink", {"path": PATH, "target": TARGET})
    assert task.display == f"ln -sfn {TARGET} {PATH}"


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_is_no_link_stays(arguments, facts, kind):
    refused = KIND.read(arguments(path=PATH, target=TARGET)).job(facts({QUERY: {**PLACE, "kind": kind}}))
    assert isinstance(refused, CannotAct)
    assert refused.summary == f"{PATH} is a {kind}, not a link; it is not replaced"


@pytest.mark.parametrize(
    ("values", "summary"),
    [
        ({"path": PATH, "target": " "}, "`target` names nothing"),
        ({"path": PATH, "target": PATH}, "would lead to itself"),
        ({"path": "cuda", "target": TARGET}, "not a whole path"),
    ],
)
def test_refused(arguments, values, summary):
    with pytest.raises(Invalid, match=summary):
        KIND.read(arguments(**values))


def test_state_is_where_it_leads(arguments, facts):
    kind = KIND.read(arguments(path=PATH, target=TARGET))
    state = kind.state(facts({QUERY: {**PLACE, "kind": "link", "target": "/usr/local/cuda-12.8"}}))
    assert state["file", PATH].text == "link to /usr/local/cuda-12.8"


@pytest.mark.parametrize(("target", "stated"), [("/opt/b", {"target": "/opt/b"}), ("~/b", {})])
def test_that_the_link_is_there_is_stated_without_being_written_down(arguments, target, stated):
    (condition,) = KIND.read(arguments(path="~/a", target=target)).implied()
    assert condition.arguments.values == {"path": "~/a", "type": "symlink", **stated}
