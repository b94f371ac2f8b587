"""`verify` and `facts`: nodes that are asked and left as they are; recorded facts on disk."""

import json
import stat

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackplan.connection.failure import NodeProgramFailed, NodeUnreachable
from stackplan.engine.consult import Survey
from stackplan.engine.exit_status import exit_status
from stackplan.engine.facts_file import decode, encode, recorded_answers, write
from stackplan.engine.facts_folder import read_folder
from stackplan.engine.gather import record
from stackplan.engine.verify import verify
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.facts import Facts, Failed, Known, Origin, Query, Unknown
from stackplan.model.secret import Redactor, Secret
from tests.engine.world import FakeClock, FakeSession, Set, World, bound, condition, step, target

SURVEY = Survey(redactor=Redactor(), clock=FakeClock())
BOOK_STEPS = (step("torch"), step("sglang"))


def look(world, fault=lambda word: None):
    book = bound(*BOOK_STEPS, preconditions=[condition("is", name="gpu", value="free")])
    return verify([target("a", book)], lambda node: FakeSession(world, fault), SURVEY)


@pytest.mark.parametrize(
    ("values", "steps", "status"),
    [
        ({"torch": "new", "sglang": "new"}, ["held", "held"], 0),
        ({"torch": "new", "sglang": "old"}, ["held", "not-held"], 3),
        ({"torch": Unknown("no venv"), "sglang": "new"}, ["not-held", "held"], 3),
    ],
)
def test_verify_asks_all_postconditions_in_one_round_trip(values, steps, status):
    """The world knows nothing of `gpu`: preconditions are not asked."""
    world = World(values)
    report = look(world)
    assert [it.outcome.value for it in report.nodes[0].steps] == steps
    assert exit_status(report) == status
    assert len(world.asked) == 1
    assert world.starts == {}


def test_verify_says_why_a_step_is_not_proven():
    (node,) = look(World({"torch": Unknown("no venv"), "sglang": "new"})).nodes
    assert node.message == "cannot be proven: torch is new (no venv)"
    assert node.steps[0].conditions[0].why == "no venv"


def diagnosing(monkeypatch, found):
    monkeypatch.setattr(Set, "diagnose_state", lambda self, evidence: found(evidence), raising=False)


def test_a_finding_on_the_state_is_told_by_the_step_that_can_mend_it(monkeypatch):
    def gone(evidence):
        place = evidence.at if evidence.step == "sglang" else None
        return (Diagnosis(summary="files are gone", code="SP203", at=evidence.at, remedy_at=place),)

    diagnosing(monkeypatch, gone)
    (node,) = look(World({"torch": "old", "sglang": "old"})).nodes
    assert [[it.step for it in step.diagnoses] for step in node.steps] == [[], ["sglang"]]
    (node,) = look(World({"torch": "old", "sglang": "new"})).nodes
    assert [[it.step for it in step.diagnoses] for step in node.steps] == [["torch"], []]
    (node,) = look(World({"torch": "new", "sglang": "new"})).nodes
    assert [step.diagnoses for step in node.steps] == [(), ()]


def test_a_kind_that_cannot_make_sense_of_the_state_says_nothing(monkeypatch):
    def burst(evidence):
        raise ZeroDivisionError

    diagnosing(monkeypatch, burst)
    (node,) = look(World({"torch": "old", "sglang": "new"})).nodes
    assert [it.outcome.value for it in node.steps] == ["not-held", "held"]
    assert node.steps[0].diagnoses == ()


def test_verify_of_a_node_program_that_cannot_answer_proves_nothing():
    def fault(word):
        if word == "ask":
            raise NodeProgramFailed("no memory")

    report = look(World({}), fault)
    assert {it.conditions[0].why for it in report.nodes[0].steps} == {"no memory"}


def test_facts_are_recorded_privately_and_read_back(tmp_path):
    book = bound(step("torch"), step("sglang"))
    worlds = {
        "gpu-01": World({"torch": "new", "sglang": Unknown("?")}),
        "ops@h/../x:22": World({"torch": 1, "sglang": []}),
    }

    def connect(node):
        if node.name == "down":
            raise NodeUnreachable("no route")
        return FakeSession(worlds[node.name])

    folder = tmp_path / "facts"
    names = [*worlds, "down"]
    found = record([target(name, book) for name in names], connect, SURVEY, folder)
    assert str(found["down"]) == "no route"
    assert sorted(path.parent for path in folder.iterdir()) == [folder, folder]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    read = read_folder(folder)
    assert set(read) == set(worlds)
    for name, world in worlds.items():
        assert read[name].answers == {query: world.answer(query) for query in book.queries}
        assert read[name].origin is Origin.RECORDED


def test_facts_match_their_schema(tmp_path, request):
    schema = json.loads((request.config.rootpath / "schemas" / "facts.v1.json").read_text())
    answers = {
        Query("a", {"x": 1}): Known([1]),
        Query("b", {}, "root"): Unknown("?"),
        Query("c", {}): Failed("no", "e"),
    }
    data = json.loads(write(tmp_path, Facts("n", Origin.LIVE, "2026-12-01T08:30:00Z", answers), Redactor()).read_text())
    jsonschema.Draft202012Validator(schema).validate(data)
    assert decode(data).answers == answers


def test_no_secret_is_recorded(tmp_path):
    asked = Query("command", {"environment": {"TOKEN": Secret("hunter2secret")}})
    told = Query("value", {"name": "torch"})
    answers = {asked: Known("x"), told: Known(["it says hunter2secret"])}
    path = write(
        tmp_path, Facts("n", Origin.LIVE, "2026-12-01T08:30:00Z", answers), Redactor(frozenset({"hunter2secret"}))
    )
    assert "hunter2secret" not in path.read_text()
    found = read_folder(tmp_path)["n"]
    assert found.answers == {told: Known(["it says ***"])}
    assert "secret" in recorded_answers(found, [asked])[asked].why
    # The negative control: it is the redactor that hides it.
    assert (
        "hunter2secret"
        in write(tmp_path, Facts("n", Origin.LIVE, "2026-12-01T08:30:00Z", answers), Redactor()).read_text()
    )


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "no recorded facts"),
        ("[]", "the format is not stackplan.facts/1"),
        ('{"format": "stackplan.facts/1"}', "is missing"),
        ('{"format": "stackplan.facts/1", "node": "a", "taken": "", "answers": [1]}', "no `query`"),
        ('{"format": "stackplan.facts/1", "node": "a", "taken": "", "answers": [{"query": {}}]}', "needs `kind`"),
        ("[" * 100_000, "no recorded facts"),
    ],
)
def test_a_file_that_holds_no_facts_is_named(tmp_path, text, match):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(Invalid, match=match) as raised:
        read_folder(tmp_path)
    assert raised.value.diagnoses[0].at.path == str(tmp_path / "a.json")


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(Invalid, match="cannot read the recorded facts"):
        read_folder(tmp_path / "none")


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Invalid, match="cannot write"):
        write(tmp_path / "file", Facts("n", Origin.LIVE, "t", {}), Redactor())


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=40)
@given(
    arguments=st.dictionaries(st.text(max_size=5), plain, max_size=3), user=st.none() | st.text(max_size=5), value=plain
)
def test_facts_survive_their_encoding(arguments, user, value):
    query = Query("k", arguments, user)
    facts = Facts("n", Origin.RECORDED, "t", {query: Known(value)})
    assert decode(json.loads(json.dumps(encode(facts, Redactor())))) == facts
