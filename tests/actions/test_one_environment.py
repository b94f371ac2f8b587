"""Two names of one environment are one to predictions, and what is written into it is foretold by nobody."""

from dataclasses import replace

import pytest

from stackplan.actions import file, symlink
from stackplan.actions._installer_facts import installer_query
from stackplan.actions._target import target_query
from stackplan.actions.python_packages import KIND
from stackplan.conditions import package
from stackplan.model.distribution import distributions_query, package_state
from stackplan.model.facts import Failed, Known, Query, Unknown
from stackplan.model.kind import Prediction
from stackplan.model.verdict import Status
from tests.actions.conftest import distributions_answer, installer_answer

HOME = "/home/ops"
REAL = f"{HOME}/ml-env"
MOVES = {
    "refused": None,
    "changes": [{"name": "torch", "before": "2.10.0", "after": "2.11.0"}],
    "metadata": {
        "torch": {"name": "torch", "version": "2.11.0", "requires": [], "requires_python": None, "provides_extra": []}
    },
    "made": None,
    "index_findings": [],
}
HEAD = {"exists": True, "environment": True, "interpreter": "/p", "interpreter_fault": None, "python_version": "3.12.1"}


def answers_of(venv, path, *rows, through=None):
    """Return what the questions of an action about `venv` are answered; `through` as the node tells it."""
    led = {} if through is None else {"through": through}
    return {
        installer_query(venv, None): {**installer_answer(venv=path), **led},
        distributions_query(venv=venv): {**distributions_answer(*rows), **HEAD, "path": path, **led},
        Query("records", {"venv": venv}): {"path": path, "findings": {}, **led},
    }


ROWS = (("torch", "2.10.0"), ("numpy", "2.1.0"))
NAMES = {
    "~/current": (f"{HOME}/current", [REAL]),
    "~/./d/../ml-env": (f"{HOME}/./d/../ml-env", [REAL]),
    "/data/x": ("/data/x", [f"{HOME}/current", REAL]),
}


@pytest.fixture
def world(facts):
    """Return facts of an environment by its own name, by three others, and of another one."""
    answers = answers_of("~/ml-env", REAL, *ROWS) | answers_of("~/other", f"{HOME}/other", *ROWS)
    for venv, (path, through) in NAMES.items():
        answers |= answers_of(venv, path, *ROWS, through=through)
    answers[Query("torch", {"python": "~/current/bin/python"})] = {
        **HEAD,
        "path": f"{HOME}/current/bin/python",
        "through": [f"{REAL}/bin/python"],
        "installed": True,
    }
    answers[Query("imports", {"venv": "~/current", "modules": ("torch",)})] = Failed("it could not be started")
    return facts(answers)


@pytest.fixture
def upgrade(arguments):
    """Return a function: the prediction of an upgrade of torch in `venv`, and the facts with it laid over them."""

    def foretell(facts, venv):
        kind = KIND.read(arguments(venv=venv, packages=["torch"], upgrade=True, index_url="https://x/cu130"))
        (query,) = kind.forecast(facts)
        facts = replace(facts, answers={**facts.answers, query: Known(MOVES)})
        prediction = kind.predict(facts)
        assert isinstance(prediction, Prediction)
        return prediction, facts.foreseen(prediction.answers)

    return foretell


@pytest.mark.parametrize("acting", ["~/ml-env", *NAMES])
@pytest.mark.parametrize("asked", ["~/ml-env", *NAMES])
def test_by_whatever_name_it_acts_and_is_asked(world, upgrade, arguments, acting, asked):
    _, after = upgrade(world, acting)
    stated = package.KIND.read(arguments(venv=asked, name="torch", version="==2.11.0"))
    assert stated.evaluate(after).status is Status.HELD
    told = after[distributions_query(venv=asked)].value
    assert told["path"] == world[distributions_query(venv=asked)].value["path"], "by the name that was asked with"
    other = package.KIND.read(arguments(venv="~/other", name="torch", version="==2.11.0"))
    assert other.evaluate(after).status is Status.NOT_HELD


def test_what_is_only_named_and_could_not_be_answered_is_open_too(world, upgrade):
    prediction, _ = upgrade(world, "~/ml-env")
    for query in (
        Query("imports", {"venv": "~/current", "modules": ("torch",)}),
        Query("records", {"venv": "/data/x"}),
    ):
        assert prediction.answers[query] == Unknown("not known before torch is changed")
    assert prediction.answers[Query("torch", {"python": "~/current/bin/python"})].value["version"] == "2.11.0"


def test_it_reaches_what_it_would_change(world, upgrade, arguments):
    prediction, _ = upgrade(world, "~/current")
    kind = KIND.read(arguments(venv="~/current", packages=["torch"]))
    assert prediction.answers.keys() <= kind.reach(world)
    assert not any(query.arguments.get("venv") == "~/other" for query in kind.reach(world))


def test_a_second_step_goes_on_from_what_the_first_leaves(world, upgrade, arguments):
    _, after = upgrade(world, "~/ml-env")
    kind = KIND.read(arguments(venv="~/current", packages=["torch"], index_url="https://x/cu130"))
    (query,) = kind.forecast(after)
    carried = query.arguments["carried"]
    assert [row["metadata"]["version"] for row in carried["added"]] == ["2.11.0"]


def test_facts_from_before_places_were_told_are_taken_by_their_names(facts, upgrade):
    answers = answers_of("~/ml-env", REAL, *ROWS) | answers_of("~/current", f"{HOME}/current", *ROWS)
    prediction, _ = upgrade(facts(answers), "~/ml-env")
    assert {query.arguments["venv"] for query in prediction.answers} == {"~/ml-env"}


def test_an_environment_that_a_link_waits_for(facts, arguments):
    """The link leads nowhere until the environment is made; then it is that one, by the link's own name."""
    missing = {"kind": "missing", "interpreter": None, "python": {"path": "/p", "version": "3.12.1", "venv": True}}
    nothing = {"exists": False, "environment": False, "interpreter": None, "distributions": []}
    made = {
        **distributions_answer(),
        **HEAD,
        "path": REAL,
        "site_packages": [f"{REAL}/lib"],
        "interpreter": f"{REAL}/p",
    }
    link = {"path": f"{HOME}/current", "through": [REAL]}
    own, other = distributions_query(venv="~/ml-env"), distributions_query(venv="~/current")
    before = facts(
        {
            installer_query("~/ml-env", "python3"): installer_answer(**missing),
            own: {**distributions_answer(), **nothing},
            Query("records", {"venv": "~/ml-env"}): {"path": REAL},
            other: {**distributions_answer(), **nothing, **link},
            installer_query("~/current", None): {**installer_answer(kind="other"), "venv": link["path"], **link},
            distributions_query(python="~/ml-env/bin/python"): {**nothing, "path": f"{REAL}/bin/python"},
        }
    )
    kind = KIND.read(arguments(venv="~/ml-env", packages=["torch"], create={"python": "python3"}))
    (query,) = kind.forecast(before)
    answers = kind.predict(before.merged(facts({query: {**MOVES, "made": made}}))).answers
    told = answers[other].value
    assert (told["exists"], told["path"], told["through"]) == (True, f"{HOME}/current", [REAL])
    assert (told["site_packages"], told["interpreter"]) == ([f"{HOME}/current/lib"], f"{HOME}/current/p")
    assert {name: it.text for (_, name), it in package_state(answers[other]).items()} == {"torch": "2.11.0"}
    by_link = answers[installer_query("~/current", None)].value
    assert (by_link["kind"], by_link["interpreter"]) == ("environment", f"{HOME}/current/bin/python")
    assert isinstance(answers[distributions_query(python="~/ml-env/bin/python")], Unknown), "its own word alone"


LINK = target_query("~/current", follow=False)
THERE = {"path": f"{HOME}/current", "home": HOME, "kind": "link", "target": "ml-env", "owner": "ops"}


def test_a_link_that_a_step_moves_is_no_name_of_it_any_more(world, facts, upgrade, arguments):
    moves = symlink.KIND.read(arguments(path="~/current", target="other"))
    before = world.merged(facts({LINK: THERE}))
    after = before.foreseen(moves.predict(before).answers)
    for query in (distributions_query(venv="~/current"), distributions_query(venv="/data/x")):
        assert after[query] == Unknown("it depends on what is at other by then")
    prediction, _ = upgrade(after, "~/ml-env")
    named = {query.arguments["venv"] for query in prediction.answers if query.kind == "distributions"}
    assert named == {"~/ml-env", "~/./d/../ml-env"}


def test_the_link_itself_stays_as_it_is(world, facts, upgrade):
    prediction, _ = upgrade(world.merged(facts({LINK: THERE})), "~/current")
    assert LINK not in prediction.answers


WRITTEN = [
    ("lib/python3.12/site-packages/torch-2.10.0.dist-info/METADATA", {"distributions", "records"}),
    ("lib64/python3.12/site-packages/bb-1.egg-info", {"distributions", "records"}),
    ("pyvenv.cfg", {"distributions", "records", "installer"}),
    ("bin/python", {"distributions", "records", "installer"}),
    ("lib/python3.12/site-packages/sitecustomize.py", {"records"}),
    ("bin/serve", set()),
    ("etc/x.conf", set()),
]


@pytest.fixture
def write(world, facts, arguments):
    """Return a function: the facts before a new file is written at `path`, which is `name` in ml-env, the action, and
    what it foretells.
    """

    def foretell(path, name):
        target = {"path": f"{REAL}/{name}", "kind": "missing", "new_file": {"mode": "0644", "owner": "o", "group": "o"}}
        before = world.merged(facts({target_query(path, follow=True): target}))
        kind = file.KIND.read(arguments(path=path, content="x"))
        return before, kind, kind.predict(before).answers

    return foretell


@pytest.mark.parametrize(("name", "open_"), WRITTEN)
@pytest.mark.parametrize("venv", ["~/ml-env", "~/current"])
def test_what_is_written_into_it_leaves_open_what_rests_on_it(write, venv, name, open_):
    path = f"{venv}/{name}"
    before, kind, answers = write(path, name)
    asked = {query for query in answers if "venv" in query.arguments}
    assert answers.keys() <= kind.reach(before)
    for about in ("~/ml-env", *NAMES):
        assert {query.kind for query in asked if query.arguments.get("venv") == about} - {"imports"} == open_
    assert not any(query.arguments.get("venv") == "~/other" for query in asked)
    assert all(answers[query].why == f"it depends on {path}, which is another by then" for query in asked)


def test_nothing_is_foretold_of_packages_where_metadata_was_written(write, arguments):
    name = "lib/python3.12/site-packages/torch-2.10.0.dist-info/METADATA"
    path = f"~/current/{name}"
    before, _, answers = write(path, name)
    kind = KIND.read(arguments(venv="~/ml-env", packages=["torch"], upgrade=True))
    assert kind.predict(before.foreseen(answers)) == Unknown(
        f"it is not known what is installed in ~/ml-env: it depends on {path}, which is another by then"
    )
