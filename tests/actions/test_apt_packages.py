"""`apt_packages`: what is refused, what the node is told, what is said of failures. A real apt: tests/node."""

import time

import pytest

from stackplan.actions._target import target_query
from stackplan.actions.apt_packages import KIND
from stackplan.model.change import Change
from stackplan.model.debian_package import DPKG_QUERY, debian_package_query
from stackplan.model.diagnosis import Invalid
from stackplan.model.facts import Known, Query, Unknown
from stackplan.model.kind import CannotAct, Prediction
from stackplan.model.outcome import Reason

DPKG = {
    "architecture": "amd64",
    "packages": {"libnccl2": "2.29.7-1+cuda13.2", "cuda-drivers": "580.65.06-1"},
    "held": ["cuda-drivers"],
    "unfinished": {},
    "journal": 0,
    "locked_by": None,
    "apt_get": "/usr/bin/apt-get",
    "uid": 0,
    "user": "root",
}
NCCL = "libnccl2=2.30.7-1+cuda13.3"


def simulation(install=(), remove=(), *, update=False, after=None):
    asked = {"install": tuple(install), "remove": tuple(remove), "update": update, "options": (), "after": after}
    return Query("apt_simulation", asked)


def simulated(problems=(), available=None, fetch=(), **changes):
    return {
        "changes": {
            name.replace("_", "-"): {"before": before, "after": after} for name, (before, after) in changes.items()
        },
        "problems": list(problems),
        "fetch_problems": list(fetch),
        "available": available or {},
    }


@pytest.mark.parametrize(
    ("values", "summary"),
    [
        ({}, "`apt_packages` does nothing"),
        ({"install": ["-o=x"]}, "'-o=x' in `install` is not a package"),
        ({"install": ["./a.deb"]}, "is not a package"),
        ({"install": ["cuda-*"]}, "is not a package"),
        ({"install": ["cuda-drivers-"]}, "is not a package"),
        ({"install": ["a1=1.0; reboot"]}, "is not a package"),
        ({"remove": ["a1=1.0"]}, "is not a package"),
        ({"install": ["a1", "a1=2"]}, "names a package twice: a1, a1=2"),
        ({"install": ["a1=2"], "remove": ["a1"]}, "`install` and `remove` both name a1"),
        ({"install": ["a1"], "lock_timeout": "soon"}, "`lock_timeout` is not a duration"),
        ({"update": "yes"}, "`update` is not `true` or `false`"),
    ],
)
def test_refused_in_the_playbook(arguments, values, summary):
    with pytest.raises(Invalid, match=summary):
        KIND.read(arguments(**values))


def test_many_packages_are_each_looked_at_once(arguments):
    """Two for each pair of them would take half an hour."""
    started = time.process_time()
    with pytest.raises(Invalid, match="names a package twice: a7, a7=2"):
        KIND.read(arguments(install=[*(f"a{number}" for number in range(40_000)), "a7=2"]))
    assert time.process_time() - started < 30


def test_the_task(arguments, facts):
    kind = KIND.read(
        arguments(install=[NCCL], remove=["cuda-drivers"], hold=["libnccl2"], update=True, lock_timeout="10m")
    )
    (task,) = kind.job(facts({DPKG_QUERY: DPKG})).stages
    assert task.arguments == {
        "install": (NCCL,),
        "remove": ("cuda-drivers",),
        "hold": ("libnccl2",),
        "update": True,
        "lock_timeout_s": 600.0,
    }
    assert task.display == f"apt-get update\napt-get install {NCCL} cuda-drivers-\napt-mark hold libnccl2"


@pytest.mark.parametrize(
    ("answer", "summary", "remedy"),
    [
        ({**DPKG, "uid": 1000, "user": "ops"}, "ops may not install apt packages", "become: true"),
        ({**DPKG, "apt_get": None}, "the node has no apt-get", None),
        ({**DPKG, "unfinished": {"a1": "half-configured"}}, "a1 is half-configured", "dpkg --configure -a"),
        ({**DPKG, "journal": 2}, "2 unfinished changes", "dpkg --configure -a"),
        ({**DPKG, "packages": {}}, "`hold` names libnccl2, which is not installed", "Add it to `install`"),
        (Unknown("there is no program dpkg on this node"), "there is no program dpkg", None),
    ],
)
def test_what_keeps_it_from_acting(arguments, facts, answer, summary, remedy):
    refused = KIND.read(arguments(hold=["libnccl2"])).job(facts({DPKG_QUERY: answer}))
    assert isinstance(refused, CannotAct)
    assert summary in refused.summary
    assert refused.remedy is None if remedy is None else remedy in refused.remedy


def test_what_another_program_is_in_the_middle_of_is_not_called_interrupted(arguments, facts):
    at_work = {"path": "/var/lib/dpkg/lock-frontend", "pid": 1719, "name": "unattended-upgr"}
    answer = {**DPKG, "unfinished": {"a1": "unpacked"}, "locked_by": at_work}
    assert not isinstance(KIND.read(arguments(install=["b1"])).job(facts({DPKG_QUERY: answer})), CannotAct)


def test_answers_are_foretold_and_what_packages_may_bring_is_left_open(arguments, facts):
    service, missing = Query("service", {"name": "nv"}), Query("target", {"path": "/etc/nv/x", "follow": True})
    system = Query("os", {})
    found = KIND.read(arguments(install=[NCCL], hold=["libnccl2"], remove=["cuda-drivers"])).predict(
        facts(
            {
                DPKG_QUERY: DPKG,
                simulation([NCCL], ["cuda-drivers"]): simulated(
                    libnccl2=("2.29.7-1+cuda13.2", "2.30.7-1+cuda13.3"), cuda_drivers=("580.65.06-1", None)
                ),
                debian_package_query("libnccl2"): {
                    "name": "libnccl2",
                    "version": "2.29.7-1+cuda13.2",
                    "status": "installed",
                    "held": False,
                    "broken": False,
                },
                service: {"load": "not-found"},
                missing: {"kind": "missing", "folder_kind": "missing"},
                system: {"reboot_required": False, "kernel": "6.8"},
            }
        )
    )
    assert isinstance(found, Prediction)
    assert found.changes == (
        Change("apt", "cuda-drivers", "580.65.06-1, held", None),
        Change("apt", "libnccl2", "2.29.7-1+cuda13.2", "2.30.7-1+cuda13.3, held"),
    )
    row = found.answers[debian_package_query("libnccl2")].value
    assert (row["version"], row["held"]) == ("2.30.7-1+cuda13.3", True)
    assert isinstance(found.answers[service], Unknown)
    assert isinstance(found.answers[missing], Unknown)
    assert found.answers[system] == Known({"reboot_required": None, "kernel": "6.8"})


def test_a_user_may_come_with_a_package(arguments, facts):
    """Unknown is not missing: the file that is to belong to slurm is not said to fail behind slurm's package."""
    known, nobody = (target_query(path, follow=True, owner="slurm") for path in ("/etc/known", "/etc/nobody"))
    there = {"kind": "file", "folder_kind": "folder"}
    seen = facts(
        {
            DPKG_QUERY: DPKG,
            simulation(("slurm",)): simulated(slurm=(None, "23.11")),
            known: {**there, "wanted": {"owner": "slurm", "uid": 64030, "group": "slurm", "gid": 64030}},
            nobody: {**there, "wanted": {"owner": None, "uid": None, "group": "root", "gid": 0}},
        }
    )
    answers = KIND.read(arguments(install=["slurm"])).predict(seen).answers
    assert isinstance(answers[nobody], Unknown)
    assert known not in answers


def test_a_step_after_it_is_asked_on_top_of_what_is_foretold(arguments, facts):
    first = facts({DPKG_QUERY: DPKG, simulation(["a1"]): simulated(a1=(None, "1.0"))})
    after = first.foreseen(KIND.read(arguments(install=["a1"])).predict(first).answers)
    asked = KIND.read(arguments(install=["b1"])).forecast(after)
    assert asked == (simulation(["b1"], after={"changes": {"a1": "1.0"}, "held": ("cuda-drivers",)}),)


def test_a_repository_that_an_earlier_step_brings_leaves_it_open(arguments, facts):
    written = Query("target", {"path": "/etc/apt/sources.list.d/cuda.list", "follow": True})
    known = {DPKG_QUERY: DPKG, simulation(["b1"]): simulated(problems=["Unable to locate package b1"])}
    kind = KIND.read(arguments(install=["b1"]))
    about = {"kind": "file", "path": "/etc/apt/sources.list.d/cuda.list", "modified_ns": 5}
    assert kind.predict(facts({**known, written: about})).failures
    foretold = kind.predict(facts({**known, written: {**about, "modified_ns": None}}))
    assert isinstance(foretold, Unknown)
    assert "an earlier step writes /etc/apt/sources.list.d/cuda.list" in foretold.why


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (simulated(problems=["Unable to locate package libnccl2"]), ("SP223", "37:20", "no version of it")),
        (
            simulated(
                problems=["Version '2.30.7-1+cuda13.3' for 'libnccl2' was not found"],
                available={"libnccl2": {"candidate": "3", "versions": ["3", "2"]}},
            ),
            ("SP223", "37:20", "3, 2"),
        ),
        (simulated(problems=["x : Depends: y but it is not installable"]), ("SP229", "37:7", None)),
        (simulated(fetch=["The repository 'x' is not signed."]), ("SP228", "37:7", None)),
        (simulated(libcudnn9=("9", None)), ("SP227", "37:7", None)),
        (simulated(libcudnn9=("9.1", "9.0")), ("SP227", "37:7", None)),
        (simulated(cuda_drivers=("580", "590")), ("SP227", "37:7", None)),
    ],
)
def test_what_would_fail_is_foretold_with_its_place(arguments, facts, told, expected):
    found = KIND.read(arguments(install=[NCCL])).predict(facts({DPKG_QUERY: DPKG, simulation([NCCL]): told}))
    (diagnosis,) = found.failures
    assert (diagnosis.code, f"{diagnosis.at.line}:{diagnosis.at.column}", diagnosis.observed) == expected


@pytest.mark.parametrize(
    ("output", "code", "words"),
    [
        (
            "stackplan: apt's lock /a/lock is held by process 1719 (unattended-upgr) for longer than 300 s; it was not",
            "SP222",
            "process 1719 (unattended-upgr)",
        ),
        (
            "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1719 (unattended-upgr)",
            "SP222",
            "process 1719 (unattended-upgr)",
        ),
        ("stackplan: dpkg was interrupted: a1 is half-installed. Run", "SP224", "half installed"),
        ("stackplan: the package lists could not be fetched:\n  W: GPG error: x\n", "SP228", "package lists"),
        ("stackplan: apt would also remove b1, c1, which `remove` does not name", "SP227", "would remove b1, c1"),
        ("stackplan: apt cannot do it:\n  Unable to locate package b1\n", "SP223", "offers b1"),
        ("stackplan: apt cannot do it:\n  b1 : Depends: c1\n", "SP229", "No set of package versions"),
        (
            "dpkg: error processing package nvidia-kernel-dkms (--configure):\n installed script returned 10\n",
            "SP230",
            "nvidia-kernel-dkms",
        ),
        ("E: You don't have enough free space in /var/cache/apt/archives/.", "SP233", "/var/cache/apt/archives/"),
    ],
)
def test_failures(arguments, evidence, output, code, words):
    read = arguments(install=["b1"], lock_timeout="5m")
    (diagnosis,) = KIND.read(read).diagnose(evidence(read, (), code=1, output=output, reason=Reason.ACTION))
    assert diagnosis.code == code
    assert words in diagnosis.summary
    assert KIND.read(read).diagnose(evidence(read, (), code=0, output=output, reason=Reason.POSTCONDITION)) == ()


@pytest.mark.parametrize(("update", "remedy"), [(False, "Add `update: true` at 37:7"), (True, "Add the repository")])
def test_already_the_newest_version_is_a_no_op_with_a_remedy(arguments, evidence, update, remedy):
    read = arguments(install=["b1"], update=update)
    output = "b1 is already the newest version (2.13.0-1).\n0 upgraded, 0 newly installed\n"
    (diagnosis,) = KIND.read(read).diagnose(evidence(read, (), code=0, output=output))
    assert diagnosis.code == "SP223"
    assert "b1 2.13.0-1 is the newest version" in diagnosis.summary
    assert diagnosis.remedy.startswith(remedy)


def test_what_is_stated_without_being_written_down(arguments):
    made = KIND.read(arguments(install=["a1=1.0-*", "b1"], remove=["c1"], hold=["a1", "d1"]))
    assert [it.arguments.values for it in made.implied()] == [
        {"name": "a1", "version": "1.0-*", "held": True},
        {"name": "b1"},
        {"name": "c1", "absent": True},
        {"name": "d1", "held": True},
    ]
