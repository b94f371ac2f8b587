"""What is predicted is what happens: the dry run of real uv and real pip, then the run itself, on loopback indexes."""

import hashlib
import http.server
import shutil
import sys
import tempfile
import threading
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from stackplan.connection.wire import _answer, plain
from stackplan.model.change import differences
from stackplan.model.distribution import distributions_query, package_state
from stackplan.model.facts import Query
from stackplan.model.kind import Prediction
from stackplan.model.secret import Secret
from stackplan.node.asker import answer
from stackplan.node.context import Context
from tests.actions.test_real_installers import UV, Handler, Node, needs_uv, seed, wheel  # noqa: F401 - a fixture

OFFERED = {
    "cu128": [("torch", "2.10.0+cu128"), ("sglang", "0.5.2", "torch==2.10.0+cu128")],
    "cu130": [
        ("torch", "2.10.0+cu128"),
        ("torch", "2.10.0+cu130"),
        ("torch", "2.11.0+cu130"),
        ("sglang", "0.5.2", "torch==2.10.0+cu128"),
        ("kernels", "1.0", "torch>=2.11", 'absent; sys_platform == "win32"'),
        ("serving", "1.0", "torch"),
    ],
    "private": [("torch", "2.12.0+cu130")],
}
CHAIN = {
    "base": ("1.0", "1.1", "2.0+cu128", "2.0+cu130", "2.1.dev3"),
    "low-er": ("0.9", "1.0"),
    "upper": ("1.0", "2.0"),
}
NEEDS = {
    ("low-er", "0.9"): ("base<2", 'upper==1.0; extra == "more"'),
    ("low-er", "1.0"): ("base>=1.1", 'base==2.0+cu128; extra == "more"'),
    ("upper", "1.0"): ("low_er<1", "base==1.0"),
    ("upper", "2.0"): ("low-er>=1", "base==2.0+cu130"),
}


def serve(root, pool):
    handler = lambda *about: Handler(*about, directory=str(root))  # noqa: E731 - one line says it
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.seen = []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    pool.append((server, thread))
    return f"127.0.0.1:{server.server_address[1]}"


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """Yield a function: the address of an index; `/private/` wants a password, `/chain` holds packages with pins."""
    root = tmp_path_factory.mktemp("index")
    for label, rows in OFFERED.items():
        for name, version, *requires in rows:
            wheel(root / label / name, name, version, *requires)
    for name, versions in CHAIN.items():
        for version in versions:
            extras = ("more",) if name == "low-er" else ()
            requires = NEEDS.get((name, version), ())
            wheel(root / "chain" / name, name.replace("-", "_"), version, *requires, extras=extras)
    pool = []
    try:
        host = serve(root, pool)
        yield lambda label, user="": f"http://{user}{host}/{label}"
    finally:
        for server, thread in pool:
            server.shutdown()
            thread.join()
            server.server_close()


class Foresight(Node):
    """A node of which a chain of steps is predicted, the planner's way, and then run."""

    def login_context(self):
        return Context(environment={**self.login, "UV_CACHE_DIR": str(self.folder / "cache")})

    def told(self, queries):
        """Return the answers as they come over the wire."""
        return {
            it: _answer(answer({"kind": it.kind, "arguments": plain(it.arguments)}, self.login_context()))
            for it in queries
        }

    def predict_all(self, steps, also=()):
        """Return the kinds, and the predictions of a chain: each on facts that the ones before are laid over."""
        kinds = [self.kind(**values)[1] for values in steps]
        facts = self.facts(self.told({*also, *(query for kind in kinds for query in kind.queries())}))
        predictions = []
        for kind in kinds:
            asked = self.told(kind.forecast(facts))
            facts = replace(facts, answers={**facts.answers, **asked})
            prediction = kind.predict(facts)
            predictions.append(prediction)
            if isinstance(prediction, Prediction):
                facts = replace(facts, answers={**facts.answers, **prediction.answers})
        return predictions, facts

    def predict(self, **values):
        (prediction,), _facts = self.predict_all([values])
        return prediction

    def walk(self):
        """Return every path below the environment with kind, size, time of change and digest."""
        found = {}
        for path in sorted(self.venv.rglob("*")):
            status = path.lstat()
            regular = path.is_file() and not path.is_symlink()
            digest = hashlib.sha256(path.read_bytes()).hexdigest() if regular else None
            found[str(path)] = (status.st_mode, status.st_size, status.st_mtime_ns, status.st_nlink, digest)
        return found


def packages(changes):
    return [(it.name, it.before, it.after) for it in changes if it.kind == "package"]


@pytest.fixture(autouse=True)
def _state(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("NETRC", "/dev/null/none")


@pytest.fixture
def make_node(tmp_path, arguments, facts, seed):  # noqa: F811 - a fixture
    """Return a node whose environment holds torch 2.10.0+cu128, with uv alone or pip alone."""

    def make(name, folder=tmp_path):
        made = Foresight(folder, arguments, facts, uv=name == "uv")
        shutil.copytree(seed(name), made.venv, symlinks=True)
        return made

    return make


@pytest.fixture(params=[pytest.param("uv", marks=needs_uv), "pip"])
def node(request, make_node):
    return make_node(request.param)


@pytest.fixture
def uv_node(make_node):
    if UV is None:
        pytest.skip("needs uv")
    return make_node("uv")


def test_the_founding_fault_is_foreseen_and_nothing_is_touched(node, index):
    before = node.walk()
    nothing, moved = (
        node.predict(packages=["torch"], index_url=index("cu130")),
        node.predict(packages=["torch"], index_url=index("cu130"), upgrade=True),
    )
    assert node.walk() == before
    assert (nothing.changes, nothing.answers, nothing.failures) == ((), {}, ())
    assert packages(moved.changes) == [("torch", "2.10.0+cu128", "2.11.0+cu130")]
    outcome = node.apply(packages=["torch"], index_url=index("cu130"), upgrade=True)
    assert outcome.changes == packages(moved.changes)
    assert node.walk() != before, "the walk sees a change when there is one"


def test_another_name_of_the_environment_shows_what_was_foretold_by_it(uv_node, index):
    link = uv_node.folder / "current"
    link.symlink_to(uv_node.venv.name)
    upgrade = {"packages": ["torch"], "index_url": index("cu130"), "upgrade": True}
    asked = [distributions_query(venv=str(link)), distributions_query(python=str(link / "bin/python"))]
    _, foretold = uv_node.predict_all([upgrade], also=asked)
    assert uv_node.apply(**upgrade).status == 0
    for query, found in uv_node.told(asked).items():
        there, then = package_state(found), package_state(foretold[query])
        assert {key: held.text for key, held in there.items()} == {key: held.text for key, held in then.items()}
        assert foretold[query].value["path"] == found.value["path"]
        assert then[("package", "torch")].text == "2.11.0+cu130"


def test_a_chain_carries_what_it_predicts_and_a_pin_takes_torch_back(uv_node, index):
    steps = [
        {"packages": ["torch"], "index_url": index("cu130"), "upgrade": True},
        {"packages": ["kernels"], "index_url": index("cu130")},
        {"packages": ["sglang"], "index_url": index("cu130")},
        {"remove": ["kernels"]},
    ]
    predictions, _ = uv_node.predict_all(steps)
    assert [packages(it.changes) for it in predictions] == [
        [("torch", "2.10.0+cu128", "2.11.0+cu130")],
        [("kernels", None, "1.0")],
        [("sglang", None, "0.5.2"), ("torch", "2.11.0+cu130", "2.10.0+cu128")],
        [("kernels", "1.0", None)],
    ]
    for values, prediction in zip(steps, predictions, strict=True):
        assert uv_node.apply(**values).changes == packages(prediction.changes)


def test_what_is_there_before_the_environment_is(tmp_path, arguments, facts, index):
    """The chain begins with the environment itself."""
    node = Foresight(tmp_path, arguments, facts, uv=UV is not None)
    steps = [
        {"create": {"python": sys.executable}},
        {"packages": ["serving"], "index_url": index("cu128"), "extra_index_urls": [index("cu130")]},
        {"packages": ["torch==2.10.0+cu128"], "index_url": index("cu128")},
    ]
    torch = Query("torch", {"venv": str(node.venv)})
    predictions, foreseen = node.predict_all(steps, also=(torch,))
    assert not node.venv.exists()
    assert next((it.kind, it.name) for it in predictions[0].changes) == ("environment", str(node.venv))
    assert foreseen[torch].value["version"] == "2.10.0+cu128"
    assert foreseen[torch].value["cuda"] == "12.8"
    for values, prediction in zip(steps, predictions, strict=True):
        outcome = node.apply(**values)
        assert differences(outcome.kind.state(outcome.before), outcome.kind.state(outcome.after)) == prediction.changes


def test_an_environment_is_made_even_where_nothing_can_be_installed_into_it(tmp_path, arguments, facts, index):
    node = Foresight(tmp_path, arguments, facts, uv=UV is not None)
    values = {"create": {"python": sys.executable}, "packages": ["torch==3"], "index_url": index("cu130")}
    prediction = node.predict(**values)
    assert prediction.failures
    outcome = node.apply(**values)
    assert outcome.status != 0
    assert ("environment", str(node.venv)) in {(it.kind, it.name) for it in prediction.changes}
    assert differences(outcome.kind.state(outcome.before), outcome.kind.state(outcome.after)) == prediction.changes


def test_requirements_that_were_predicted_are_those_that_come(uv_node, index):
    prediction = uv_node.predict(packages=["kernels"], index_url=index("cu130"))
    query = distributions_query(venv=str(uv_node.venv))
    foreseen = {it["name"]: it for it in prediction.answers[query].value["distributions"]}
    outcome = uv_node.apply(packages=["kernels"], index_url=index("cu130"))
    seen = {it["name"]: it for it in outcome.after[query].value["distributions"]}
    assert foreseen.keys() == seen.keys()
    for name, row in seen.items():
        assert {key: foreseen[name][key] for key in ("version", "requires", "folder", "fault")} == {
            key: row[key] for key in ("version", "requires", "folder", "fault")
        }


def test_an_index_that_does_not_answer_is_named_though_the_installer_is_content(node, index):
    prediction = node.predict(packages=["torch"], index_url=index("nowhere"))
    assert prediction.changes == ()
    (remark,) = prediction.details
    assert "/nowhere, asked for torch, answered 404 Not Found; what is installed satisfied" in remark
    assert node.predict(packages=["torch"], index_url=index("cu130")).details == ()


def test_an_index_that_is_down_is_named(uv_node):
    prediction = uv_node.predict(packages=["torch"], index_url="http://127.0.0.1:9/simple")
    (remark,) = prediction.details
    assert "the index http://127.0.0.1:9/simple, asked for torch, cannot be reached: Connection refused" in remark


def test_a_conflict_is_told_with_the_resolvers_reason(node, index):
    prediction = node.predict(packages=["sglang", "torch==2.11.0+cu130"], index_url=index("cu130"))
    assert prediction.changes == ()
    first, *_ = prediction.failures
    assert first.code == "SP208"
    assert "sglang" in " ".join(first.causes)
    assert node.apply(packages=["sglang", "torch==2.11.0+cu130"], index_url=index("cu130")).status != 0


def test_a_password_opens_the_index_and_is_in_no_answer(uv_node, index):
    address = Secret(index("private", "ops:hunter2-hunter2@"))
    prediction = uv_node.predict(packages=["torch"], index_url=address, upgrade=True)
    assert packages(prediction.changes) == [("torch", "2.10.0+cu128", "2.12.0+cu130")]
    assert prediction.details == ()
    assert "hunter2" not in repr(prediction)
    closed = uv_node.predict(packages=["torch"], index_url=index("private"), upgrade=True)
    assert closed.failures or closed.details, "without the password it does not come"


def test_requirement_lines_of_the_playbook_count(uv_node, index):
    values = {"packages": ["torch"], "index_url": index("cu130"), "upgrade": True, "constraints": ["torch<2.11"]}
    assert packages(uv_node.predict(**values).changes) == [("torch", "2.10.0+cu128", "2.10.0+cu130")]


def test_without_a_record_the_old_distribution_stays_beside_the_new(uv_node, index):
    next(uv_node.venv.glob("lib/python*/site-packages/torch-*.dist-info/RECORD")).unlink()
    values = {"packages": ["torch"], "index_url": index("cu130"), "upgrade": True}
    prediction = uv_node.predict(**values)
    assert packages(prediction.changes) == [("torch", "2.10.0+cu128", "2.10.0+cu128, 2.11.0+cu130")]
    assert uv_node.apply(**values).changes == packages(prediction.changes)


def test_without_a_record_nothing_can_be_removed(node):
    next(node.venv.glob("lib/python*/site-packages/torch-*.dist-info/RECORD")).unlink()
    prediction = node.predict(remove=["torch"])
    assert (prediction.changes, prediction.failures[0].code) == ((), "SP204")
    assert node.apply(remove=["torch"]).status != 0


def test_a_wheel_that_is_named_by_its_address(uv_node, index):
    place = index("cu130/torch/torch-2.11.0+cu130-py3-none-any.whl")
    steps = [{"packages": [f"torch @ {place}"]}, {"packages": ["kernels"], "index_url": index("cu130")}]
    predictions, _ = uv_node.predict_all(steps)
    for values, prediction in zip(steps, predictions, strict=True):
        assert uv_node.apply(**values).changes == packages(prediction.changes) != []


@dataclass(frozen=True)
class Operation:
    """One step on the packages of `/chain`: what is done to `name`; to which `version`, within which `limit`."""

    word: str
    name: str
    version: str | None = None
    limit: str | None = None

    def values(self, address):
        """Return the arguments of the step."""
        if self.word == "remove":
            return {"remove": [self.name]}
        wanted = self.name if self.word != "extra" else f"{self.name}[more]"
        given = {"packages": [wanted if self.version is None else f"{wanted}=={self.version}"], "index_url": address}
        if self.word in ("upgrade", "no_deps"):
            given[self.word] = True
        if self.word == "reinstall":
            given["reinstall"] = [self.name]
        return given if self.limit is None else {**given, "constraints": [self.limit]}


def operations(word, *, names=tuple(CHAIN), pinned=False, limits=(None,)):
    """Return operations of one kind; those of a pinned one name a version, or leave it open."""
    return st.sampled_from(
        [
            Operation(word, name, version, limit)
            for name in names
            for version in ((*CHAIN[name], None) if pinned else (None,))
            for limit in limits
        ]
    )


LIMITS = ("base<2", "base==1.1", "low-er<1", "upper!=2.0")
OPERATION = st.one_of(
    operations("install", pinned=True),
    operations("upgrade"),
    operations("remove"),
    operations("reinstall", pinned=True),
    operations("no_deps", pinned=True),
    operations("extra", names=("low-er",), pinned=True),
    operations("install", pinned=True, limits=LIMITS),
    operations("upgrade", limits=LIMITS),
)
EVERYTHING = [
    Operation("install", "low-er", "0.9"),
    Operation("upgrade", "base"),
    Operation("upgrade", "low-er", limit="base==1.1"),
    Operation("reinstall", "base", "1.1"),
    Operation("extra", "low-er", "1.0"),
    Operation("no_deps", "upper", "1.0"),
    Operation("install", "upper", "2.0"),
    Operation("remove", "low-er"),
    Operation("install", "base", "1.0"),
    Operation("install", "low-er", "1.0", "base==1.0"),
]
"""A chain in which each kind of operation has something to do, but for the last, which the resolver refuses."""


def moves(node, address, chain):
    """Predict a chain, run it, hold each step to what was predicted; return how many packages each one moved."""
    steps = [operation.values(address) for operation in chain]
    predictions, _ = node.predict_all(steps)
    moved = []
    for operation, values, prediction in zip(chain, steps, predictions, strict=True):
        assert isinstance(prediction, Prediction), (operation, prediction)
        outcome = node.apply(**values)
        # Only of `reinstall` it is looked at whether the very same files were written anew.
        anew = operation.word == "reinstall"
        expected = [it for it in packages(prediction.changes) if anew or it[1] != it[2]]
        assert [it for it in outcome.changes if anew or it[1] != it[2]] == expected, (operation, outcome.output)
        assert bool(prediction.failures) == (outcome.status != 0), (operation, outcome.output)
        moved.append(len(expected))
    return moved


@needs_uv
def test_each_kind_of_step_ends_as_predicted(uv_node, index):
    moved = moves(uv_node, index("chain"), EVERYTHING)
    assert [bool(count) for count in moved] == [True for it in EVERYTHING[:-1]] + [False]


@pytest.mark.parametrize(("installer", "examples_of"), [pytest.param("uv", (3, 10), marks=needs_uv), ("pip", (1, 6))])
def test_a_chain_of_random_steps_ends_as_predicted(make_node, tmp_path, index, installer, examples_of):
    examples, length = examples_of
    moved = []

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        # To shrink a chain takes pip minutes.
        phases=(Phase.generate, *((Phase.shrink,) if installer == "uv" else ())),
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
    )
    @given(st.lists(OPERATION, min_size=length, max_size=length, unique=True))
    def holds(chain):
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        moved.extend(moves(make_node(installer, folder), index("chain"), chain))

    holds()
    assert sum(moved) > 2 * examples, "chains in which nothing moves prove nothing"
