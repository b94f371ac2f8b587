"""`cuda_toolkit`: what is refused, what runfile and apt are told, what is said of a failure."""

import pytest

from stackplan.actions.cuda_toolkit import KIND
from stackplan.model.change import differences
from stackplan.model.debian_package import DPKG_QUERY
from stackplan.model.diagnosis import Invalid
from stackplan.model.facts import Failed, Query, Unknown
from stackplan.model.kind import CannotAct
from stackplan.model.outcome import Reason

PREFIX = "/usr/local/cuda-13.0"
URL = "https://a.example/cuda_13.0.1_580.82.07_linux.run"
RUNFILE = {"version": "13.0.1", "method": "runfile", "url": URL, "sha256": "ab" * 32, "prefix": PREFIX}
BUILD = Query("toolkit_build", {"prefix": PREFIX, "link": "/usr/local/cuda"})
NVCC = Query("nvcc", {"prefix": PREFIX})
NODE = {
    "prefix": PREFIX,
    "user": "root",
    "uid": 0,
    "machine": "x86_64",
    "exists": False,
    "version": None,
    "place": {"path": "/usr/local", "owner": "root", "writable": True, "free_bytes": 1 << 40},
    "apt_get": "/usr/bin/apt-get",
    "link": {"path": "/usr/local/cuda", "kind": "missing", "target": None, "leads_to": None},
}
NO_NVCC = {"exists": False, "release": None, "version": None}


@pytest.fixture
def job(arguments, facts):
    def build(values, **node):
        return KIND.read(arguments(**values)).job(facts({BUILD: {**NODE, **node}, NVCC: NO_NVCC}))

    return build


def test_runfile(job):
    (task,) = job(RUNFILE).stages
    assert task.kind == "cuda_toolkit"
    assert task.arguments == {
        "method": "runfile",
        "prefix": PREFIX,
        "link": "/usr/local/cuda",
        "default": False,
        "url": URL,
        "sha256": "ab" * 32,
    }
    assert task.display.startswith("sh cuda_13.0.1_580.82.07_linux.run --silent --toolkit --toolkitpath=")
    assert "--driver" not in task.display


@pytest.mark.parametrize(
    ("values", "package"),
    [
        ({"version": "13.0"}, "cuda-toolkit-13-0"),
        ({"version": "13.0.1"}, "cuda-toolkit-13-0=13.0.1-*"),
        ({"version": "13.0", "packages": ["cuda-nvcc-13-0"]}, "cuda-nvcc-13-0"),
    ],
)
def test_apt(job, values, package):
    (task,) = job({"method": "apt", **values}).stages
    argv = task.arguments["argv"]
    assert argv[:4] == ("apt-get", "install", "-y", "--no-install-recommends")
    assert "DPkg::Lock::Timeout=300" in argv
    assert argv[-1] == package
    assert task.arguments["environment"] == {"DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_MODE": "l"}


@pytest.mark.parametrize(
    ("values", "node", "summary"),
    [
        (
            RUNFILE,
            {"place": {"path": "/usr/local", "owner": "root", "writable": False}, "user": "ops"},
            "ops may not write",
        ),
        (RUNFILE, {"machine": "aarch64"}, "is for x86_64, and the node is aarch64"),
        ({"version": "13.0", "method": "apt"}, {"apt_get": None}, "the node has no apt-get"),
        ({"version": "13.0", "method": "apt"}, {"uid": 1000, "user": "ops"}, "ops may not install apt packages"),
    ],
)
def test_a_node_that_cannot_take_it(job, values, node, summary):
    refused = job(values, **node)
    assert isinstance(refused, CannotAct)
    assert summary in refused.summary
    assert refused.remedy


def test_what_could_not_be_found_out(arguments, facts):
    refused = KIND.read(arguments(**RUNFILE)).job(facts({BUILD: Unknown("no /proc"), NVCC: NO_NVCC}))
    assert isinstance(refused, CannotAct)
    assert "no /proc" in refused.summary


@pytest.mark.parametrize(
    ("values", "summary"),
    [
        ({"version": "13"}, "not a toolkit's version"),
        ({**RUNFILE, "sha256": None}, "needs its `sha256`"),
        ({**RUNFILE, "sha256": "abc"}, "not a sha256 digest"),
        ({**RUNFILE, "path": "/srv/cuda.run"}, "two runfiles"),
        ({"version": "13.0", "method": "runfile"}, "no runfile"),
        ({"version": "13.0", "method": "conda"}, "`method` is not one of its choices"),
        ({"version": "13.0", "method": "apt", "url": URL}, "`url` belongs to `method: runfile`"),
        ({**RUNFILE, "packages": ["cuda-nvcc-13-0"]}, "`packages` belongs to `method: apt`"),
        ({**RUNFILE, "prefix": "/usr/local/cuda"}, "the common link, not a toolkit's folder"),
        ({**RUNFILE, "prefix": "cuda"}, "not a whole path"),
        ({"version": "13.0", "method": "apt", "prefix": "/opt/cuda"}, "always go to /usr/local/cuda-13.0"),
        ({"version": "13.0", "packages": ["cuda"]}, "brings a driver along"),
        ({"version": "13.0", "packages": ["cuda-13-0"]}, "brings a driver along"),
        ({"version": "13.0", "packages": ["cuda-drivers"]}, "brings a driver along"),
        ({"version": "13.0", "packages": ["cuda-drivers-580=580.65.06-0ubuntu1"]}, "brings a driver along"),
        ({"version": "13.0", "packages": ["--force-yes"]}, "not the name of an apt package"),
    ],
)
def test_refused(arguments, values, summary):
    with pytest.raises(Invalid, match=summary):
        KIND.read(arguments(**{key: value for key, value in values.items() if value is not None}))


def test_its_nvcc_has_to_report_the_release(arguments):
    (condition,) = KIND.read(arguments(**RUNFILE)).implied()
    assert condition.kind == "nvcc"
    assert dict(condition.arguments.values) == {"prefix": PREFIX, "release": "13.0"}


def test_state(arguments, facts):
    kind = KIND.read(arguments(**RUNFILE))
    link = {"path": "/usr/local/cuda", "kind": "link", "target": "cuda-12.8", "leads_to": "/usr/local/cuda-12.8"}
    before = kind.state(facts({BUILD: {**NODE, "link": link}, NVCC: NO_NVCC}))
    nvcc = {"exists": True, "release": "13.0", "version": "13.0.88"}
    after = kind.state(facts({BUILD: {**NODE, "exists": True, "version": "13.0.1", "link": link}, NVCC: nvcc}))
    (change,) = differences(before, after)
    assert (change.kind, change.name, change.before, change.after) == ("toolkit", PREFIX, None, "13.0")


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ("Extraction failed.\nEnsure there is enough space in /tmp and that\n", "SP221"),
        ("E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1719 (unattended-upgr)\n", "SP222"),
        ("E: Unable to locate package cuda-toolkit-13-0\n", "SP223"),
        ("E: Version '13.0.9-*' for 'cuda-toolkit-13-0' was not found\n", "SP223"),
        ("E: dpkg was interrupted, you must manually run 'dpkg --configure -a'\n", "SP224"),
        ("/tmp/cuda-installer.log belongs to bob and the CUDA installer has to write it\n", "SP226"),
        ("sha256 of https://a.example/x.run differs\n  expected  aa\n  observed  bb\n", "SP231"),
    ],
)
def test_failures(arguments, evidence, output, code):
    read = arguments(**RUNFILE)
    found = KIND.read(read).diagnose(evidence(read, (), code=1, output=output, reason=Reason.ACTION))
    assert [it.code for it in found] == [code]
    assert found[0].remedy


def test_apt_that_has_nothing_to_do(arguments, evidence):
    read = arguments(version="13.0", method="apt")
    output = "cuda-toolkit-13-0 is already the newest version (13.0.1-1).\n"
    (diagnosis,) = KIND.read(read).diagnose(evidence(read, (), output=output))
    assert diagnosis.code == "SP225"
    assert "apt holds cuda-toolkit-13-0 for installed" in diagnosis.summary


OFFER = Query("offered_file", {"url": URL})


@pytest.mark.parametrize(
    ("why", "code"), [("answered 404 Not Found", "SP232"), ("cannot be reached: Connection refused", "SP234")]
)
@pytest.mark.parametrize("nvcc", [NO_NVCC, {"exists": True, "release": "13.0", "version": "13.0.48"}])
def test_an_address_that_does_not_give_the_runfile_out_is_foretold_to_fail(arguments, facts, why, code, nvcc):
    kind = KIND.read(arguments(**RUNFILE))
    assert kind.forecast(facts({BUILD: NODE, NVCC: nvcc})) == (OFFER,)
    prediction = kind.predict(facts({BUILD: NODE, NVCC: nvcc, OFFER: {"offered": False, "why": why}}))
    (failure,) = prediction.failures
    assert (prediction.changes, failure.code) == ((), code)
    assert failure.summary == f"The address of the file, {URL}, {why}."


def test_an_address_that_could_not_be_asked_leaves_it_unknown(arguments, facts):
    told = facts({BUILD: NODE, NVCC: NO_NVCC, OFFER: Unknown("the address answered 503 Service Unavailable")})
    assert KIND.read(arguments(**RUNFILE)).predict(told) == Unknown(
        "whether the runfile is to be had could not be told: the address answered 503 Service Unavailable"
    )


def test_a_runfile_of_the_node_is_asked_of_nobody(arguments, facts):
    kind = KIND.read(arguments(version="13.0.1", method="runfile", path="/srv/cuda.run"))
    told = facts({BUILD: {**NODE, "link": {"kind": "missing"}}, NVCC: NO_NVCC})
    assert kind.forecast(told) == ()
    assert kind.predict(told).failures == ()


def test_without_dpkg_nothing_is_foretold_of_apt(arguments, facts):
    kind = KIND.read(arguments(version="13.0", method="apt"))
    told = facts({BUILD: NODE, NVCC: NO_NVCC, DPKG_QUERY: Failed("the database is locked")})
    assert kind.forecast(told) == ()
    assert kind.predict(told) == Unknown("what dpkg has installed is not known: the database is locked")
