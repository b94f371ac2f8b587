"""What other actions foretell of the driver, the link, the shells, the caches and the kernels: unknown, or known."""

import pytest

from stackplan.actions._foretold import reach
from stackplan.actions._toolkit_forecast import installed_answers
from stackplan.actions.symlink import KIND as SYMLINK
from stackplan.conditions.cuda_link import KIND as CUDA_LINK
from stackplan.model.facts import Known, Query, Unknown
from stackplan.model.room import CONDITIONS
from stackplan.model.verdict import Status

LINK = Query("link_end", {"path": "/usr/local/cuda"})
BUILD = Query("toolkit_build", {"prefix": "/usr/local/cuda-13.0", "link": "/usr/local/cuda"})
OLD = {"path": "/usr/local/cuda", "kind": "link", "leads_to": "/usr/local/cuda-12.8"}
TOLD = {
    "path": "/usr/local/cuda-13.0",
    "prefix": "/usr/local/cuda-13.0",
    "exists": False,
    "version": None,
    "link": None,
}


@pytest.mark.parametrize(
    ("moves", "kind", "status"),
    [(True, "link", Status.HELD), (False, "link", Status.NOT_HELD), (True, "dangling", Status.HELD)],
)
def test_a_toolkit_tells_where_the_common_link_will_lead(facts, arguments, moves, kind, status):
    before = facts({BUILD: TOLD, LINK: {**OLD, "kind": kind}})
    answers = installed_answers(before, BUILD, "13.0.1", "13.0", link_moves=moves)
    stated = CUDA_LINK.read(arguments(target="/usr/local/cuda-13.0"))
    assert stated.evaluate(before.foreseen(answers)).status is status


def test_a_link_that_could_not_be_asked_is_not_foretold(facts):
    answers = installed_answers(facts({BUILD: TOLD, LINK: Unknown("x")}), BUILD, "13.0.1", "13.0", link_moves=False)
    assert LINK not in answers


def test_a_new_link_leaves_its_end_unknown(facts, arguments):
    kind = SYMLINK.read(arguments(path="/usr/local/cuda", target="/usr/local/cuda-13.0"))
    (query,) = kind.queries()
    stands = {
        "path": "/usr/local/cuda",
        "kind": "link",
        "target": "/usr/local/cuda-12.8",
        "home": "/root",
        "owner": "root",
    }
    answers = kind.predict(facts({query: stands, LINK: OLD})).answers
    assert answers[LINK] == Unknown("it depends on what is at /usr/local/cuda-13.0 by then")


@pytest.mark.parametrize("kind", ["shell_cuda", "library", "kernel_caches", "kernel_launch"])
def test_what_is_written_somewhere_may_reach_them(facts, kind):
    query = Query(kind, {})
    assert reach(facts({query: Known({})}), "/etc/profile.d/cuda.sh") == {query}


@pytest.mark.parametrize("word", ["driver_coherent", "library", "cuda_link", "no_stale_caches", "kernel_launch"])
def test_once_something_has_changed_they_are_open(word):
    assert CONDITIONS.find(word).foreseeable is False
