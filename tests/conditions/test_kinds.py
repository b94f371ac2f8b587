"""What kinds refuse in a playbook, what they show of the state, and what they share."""

import json

import pytest

from stackplan.model.arguments import Arguments
from stackplan.model.change import Held, differences
from stackplan.model.condition import Recheck
from stackplan.model.diagnosis import Invalid
from stackplan.model.facts import Facts, Known, Origin, Query
from stackplan.model.location import Location
from stackplan.model.room import CONDITIONS
from stackplan.model.secret import Secret

from .test_facts import FACTS, facts, read

V = {"venv": "~/ml-env"}


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        ("package", {"name": "torch"}, "neither `venv` nor `python` is given"),
        ("package", {**V, "python": "python3", "name": "torch"}, "`venv` and `python` are both given"),
        ("package", {**V, "name": "torch==2.10"}, "`name` is not a distribution's name"),
        ("package", {**V, "name": "torch", "version": "=>2"}, "`version` is not a version specifier such as"),
        ("package", {**V, "name": "torch", "local": "cu 130"}, "`local` is not a local label"),
        ("package", {**V, "name": "torch", "local": "cu130", "absent": True}, "`local` says nothing beside `absent`"),
        ("package", {**V, "name": "torch", "absent": "yes"}, "`absent` is not `true` or `false`"),
        ("torch", {**V, "version": "1e3"}, "`version` is not a version specifier"),
        ("torch", {**V, "cuda": Secret("13.0")}, "`cuda` may not hold a secret"),
        ("python_import", {**V, "modules": ["torch", "sgl-kernel"]}, "'sgl-kernel' in `modules` is no module's name"),
        ("python_import", {**V}, "`modules` names no module"),
        ("python", {**V, "expr": "1 +"}, "`expr` is no Python expression"),
        ("python", {**V, "expr": "1", "matches": "("}, "`matches` is not a regular expression"),
        ("gpu", {}, "`gpu` states nothing"),
        ("gpu", {"count": "eight"}, "`count` is not a whole number"),
        ("gpu", {"processes": "some"}, "`processes` can only be none"),
        ("gpu", {"mig": "off"}, "`mig` can be enabled or disabled"),
        ("gpu", {"memory": "90"}, "`memory` is not a size"),
        ("nvcc", {"release": "13.0"}, "neither `prefix` nor `path` is given"),
        ("nvcc", {"prefix": "/a", "path": "/b"}, "`prefix` and `path` are both given"),
        ("command", {"stdout": "x"}, "neither `run` nor `argv` is given"),
        ("command", {"run": "x", "argv": ["x"]}, "`run` and `argv` are both given"),
        ("command", {"run": "x", "timeout": "soon"}, "`timeout` is not a duration"),
        ("command", {"run": Secret("curl -H token")}, "`run` may not hold a secret"),
        ("command", {"run": "x", "stdout": {}}, "`stdout` states nothing"),
        ("file", {"path": "/a", "mode": "rw-r--r--"}, "`mode` is not an octal mode"),
        ("file", {"path": "/a", "mode": "77777"}, "`mode` is not an octal mode"),
        ("file", {"path": "/a", "type": "folder"}, "`type` is not one of file, directory"),
        ("file", {"path": "/a", "sha256": "abc"}, "`sha256` is not 64 hexadecimal digits"),
        ("file", {"path": "/a", "exists": False, "owner": "root"}, "`owner` says nothing of what does not exist"),
        ("disk", {"path": "/a"}, "`free` is missing"),
        ("disk", {"path": "/a", "free": "much"}, "`free` is not a size"),
        ("os", {}, "`os` states nothing"),
        ("os", {"kernel": ">six"}, "`kernel` is not a version specifier"),
        ("service", {"name": "--now"}, "`name` is not a unit's name"),
        ("service", {"name": "ssh", "active": "yes"}, "`active` is not `true` or `false`"),
        ("apt_package", {"name": "Lib NCCL"}, "`name` is not a Debian package's name"),
        ("apt_package", {"name": "a1", "version": "=>2"}, "`version` is not a Debian version such as"),
        ("apt_package", {"name": "a1", "absent": True, "held": True}, "`held` says nothing beside `absent`"),
        ("http", {"url": "localhost:30000/health"}, "`url` is not an address of http or https"),
        ("http", {"url": "http://localhost:99999/"}, "the port of `url` is not a port's number"),
        ("http", {"url": "http://localhost:0/"}, "the port of `url` is not a port's number"),
        ("http", {"url": "http://localhost:http/"}, "the port of `url` is not a port's number"),
        ("http", {"url": "http://a.example/", "timeout": "1h"}, "`timeout` is out of bounds"),
        ("http", {"url": "http://a.example/", "json": {"data.id": "x"}}, "'data.id' in `json` is not a JSON pointer"),
        ("http", {"url": "http://a.example/", "body": {"matches": "("}}, "`matches` is not a regular expression"),
        ("port", {"port": 0}, "`port` is not a port's number"),
        ("port", {"port": "http"}, "`port` is not a whole number"),
        ("port", {"port": 80, "host": "a b"}, "`host` is not a host's name"),
        ("driver_coherent", {"cuda": "cu130"}, "`cuda` is not a CUDA release"),
        ("driver_coherent", {"version": "580 or newer"}, "`version` is not a version specifier"),
        ("cuda_link", {}, "`cuda_link` states nothing"),
        ("cuda_link", {"target": "cuda-13.0"}, "`target` is not a whole path"),
        ("cuda_link", {"nvcc": ">=13"}, "`nvcc` is not a release"),
        ("library", {"name": "nccl"}, "`name` is not a library's name"),
        ("library", {"name": "/usr/lib/libnccl.so.2"}, "`name` is not a library's name"),
        ("library", {**V, "name": "libnccl.so.2", "user": "ops"}, "`user` and an environment are both given"),
        ("library", {"name": "libnccl.so.2", "path": "lib"}, "`path` is not a whole path"),
        ("no_stale_caches", {"user": "ops"}, "neither `venv` nor `python` is given"),
        ("kernel_launch", {**V, "gpus": "first"}, "`gpus` names no GPUs"),
        ("kernel_launch", {**V, "gpus": []}, "`gpus` names no GPUs"),
        ("kernel_launch", {**V, "gpus": [0, 1, 0, "1"]}, "`gpus` names GPU 0, 1 more than once"),
    ],
)
def test_arguments_that_make_no_sense_are_refused_with_a_place(kind, arguments, message):
    with pytest.raises(Invalid) as caught:
        read(kind, arguments)
    (diagnosis,) = caught.value.diagnoses
    assert diagnosis.summary.startswith(message)
    assert str(diagnosis.at) == "playbook.yaml:7:9"


@pytest.mark.parametrize(
    ("kind", "arguments", "observed"),
    [
        ("kernel_launch", {**V, "gpus": (0, 0)}, "[0, 0]"),
        ("kernel_launch", {**V, "gpus": (-1,)}, "[-1]"),
        ("same_build", {**V, "packages": ("torch", "Torch_")}, "[torch, Torch_]"),
        ("http", {"url": True}, "true"),
        ("http", {"url": {"to": ("a", None)}}, "{to: [a, null]}"),
    ],
)
def test_what_was_observed_is_shown_as_a_playbook_writes_it(kind, arguments, observed):
    with pytest.raises(Invalid) as caught:
        read(kind, arguments)
    assert caught.value.diagnoses[0].observed == observed


def test_a_matcher_that_stands_among_the_arguments_keeps_its_place():
    there = Location("playbook.yaml", 9, 21)
    arguments = Arguments({**V, "expr": "1", "matches": "("}, Location("playbook.yaml", 7, 9), {("matches",): there})
    with pytest.raises(Invalid) as caught:
        CONDITIONS.find("python").read(arguments)
    assert caught.value.diagnoses[0].at == there


@pytest.mark.parametrize(
    ("kind", "arguments", "text"),
    [
        ("package", {**V, "name": "sgl-kernel", "local": ""}, "sgl-kernel labelled with nothing"),
        ("package", {**V, "name": "torch", "version": "==2.10.*"}, "torch ==2.10.*"),
        ("torch", {**V}, "torch installed"),
        ("torch", {**V, "cuda": "13.0"}, "torch built for CUDA 13.0"),
        ("gpu", {"count": 1}, "1 GPU"),
        ("gpu", {"count": 0, "processes": "none"}, "no GPU, no process on the GPUs"),
        ("nvcc", {"path": "/usr/bin/nvcc", "version": "13"}, "nvcc (13) in /usr/bin/nvcc"),
        ("command", {"run": "true\nfalse\n"}, "`true\\nfalse` exits 0"),
        (
            "command",
            {"argv": ["a b", "c"], "stderr": {"contains": "x"}, "exit_code": 2},
            "`'a b' c` exits 2 and stderr contains 'x'",
        ),
        ("python", {**V, "expr": "a", "version": ">=2"}, "a is version >=2"),
        ("os", {"id": "ubuntu", "reboot_required": True}, "ubuntu, restart pending"),
        ("service", {"name": "ssh", "enabled": False}, "service ssh not enabled"),
        ("apt_package", {"name": "a1", "version": ">=1, <2~", "held": False}, "apt package a1 >=1, <2~ not on hold"),
        ("http", {"url": "https://me:hunter2@a.example/x"}, "https://***@a.example/x answers 200"),
        ("http", {"url": "http://a.example/", "json": {"/ok": True}}, "http://a.example/ answers 200, /ok is true"),
        ("port", {"port": 80}, "port 80 of localhost takes connections"),
        ("driver_coherent", {}, "NVIDIA driver of one version"),
        ("cuda_link", {"target": "/a/"}, "/usr/local/cuda leads to /a"),
        ("library", {"name": "libnccl.so.2"}, "libnccl.so.2 in a login"),
        ("library", {"name": "libcuda.so.1", "user": "svc", "version": "580"}, "libcuda.so.1 580 in svc's login"),
        ("no_stale_caches", {**V, "user": "svc"}, "no stale kernel caches of svc for ~/ml-env"),
        ("kernel_launch", {**V, "gpus": "all"}, "a kernel of ~/ml-env runs on every GPU"),
        ("kernel_launch", {**V, "gpus": [3, 1]}, "a kernel of ~/ml-env runs on GPU 1, 3"),
    ],
)
def test_description(kind, arguments, text):
    assert read(kind, arguments).describe() == text


def test_when_kinds_are_asked_again():
    assert {word: CONDITIONS.find(word).recheck for word in CONDITIONS.builtin()} == {
        "apt_package": Recheck.ALWAYS,
        "command": Recheck.ALWAYS,
        "cuda_coherent": Recheck.ALWAYS,
        "cuda_link": Recheck.ALWAYS,
        "disk": Recheck.ALWAYS,
        "driver_coherent": Recheck.ALWAYS,
        "environment_intact": Recheck.ALWAYS,
        "file": Recheck.ALWAYS,
        "gpu": Recheck.ALWAYS,
        "http": Recheck.FINAL,
        "kernel_launch": Recheck.FINAL,
        "kubernetes_node": Recheck.ALWAYS,
        "library": Recheck.FINAL,
        "no_stale_caches": Recheck.ALWAYS,
        "nvcc": Recheck.ALWAYS,
        "os": Recheck.ALWAYS,
        "package": Recheck.ALWAYS,
        "packages_consistent": Recheck.ALWAYS,
        "port": Recheck.FINAL,
        "python": Recheck.FINAL,
        "python_import": Recheck.FINAL,
        "same_build": Recheck.ALWAYS,
        "service": Recheck.ALWAYS,
        "slurm_node": Recheck.ALWAYS,
        "sudo": Recheck.NEVER,
        "torch": Recheck.ALWAYS,
    }


def case(name):
    found = json.loads((FACTS / f"{name}.json").read_text("utf-8"))
    condition = read(name.partition("/")[0], found["arguments"])
    return condition, facts(found["answers"])


def test_packages_are_seen_by_every_kind_that_reads_them():
    for name in ("package/older", "packages_consistent/companion-left-behind", "torch/founding-story"):
        condition, seen = case(name)
        assert {kind for kind, _ in condition.state(seen)} == {"package"}
    condition, seen = case("torch/founding-story")
    assert condition.state(seen)["package", "torch"].text == "2.10.0+cu128"


def test_what_moves_by_itself_is_no_state():
    for name in ("gpu/held", "disk/held", "os/held", "python_import/held", "python/held", "sudo/held"):
        condition, seen = case(name)
        assert condition.state(seen) == {}


def test_a_toolkit_a_file_and_an_environment_as_state():
    condition, seen = case("nvcc/held")
    assert condition.state(seen) == {("toolkit", "/usr/local/cuda-13.0"): Held("13.0", "13.0.88")}
    condition, seen = case("nvcc/absent")
    assert condition.state(seen) == {}
    condition, seen = case("file/held")
    ((key, found),) = condition.state(seen).items()
    assert key == ("file", "/etc/ld.so.conf.d/cuda.conf")
    assert found.text == "mode 0644, root:root, 28 bytes, sha256 9c56cc51b374"
    assert (
        case("file/link")[0].state(case("file/link")[1])["file", "/usr/local/cuda"].text
        == "link to /usr/local/cuda-13.0"
    )
    condition, whole = case("environment_intact/held")
    _, broken = case("environment_intact/disk-was-full")
    (change,) = differences(condition.state(whole), condition.state(broken))
    assert (change.kind, change.name, change.before, change.after) == ("environment", "~/ml-env", "intact", "2 faults")


def printed(stdout):
    value = {"exit_code": 0, "signal": None, "stdout": stdout, "stderr": "", "truncated": False}
    query = Query("command", {"run": "date", "env": {}, "timeout_s": 60.0})
    return Facts("gpu-01", Origin.LIVE, "2026-12-01T03:10:22Z", {query: Known(value)})


def test_output_of_a_command_is_state_only_where_it_is_looked_at():
    plain, looking = read("command", {"run": "date"}), read("command", {"run": "date", "stdout": {"contains": "2026"}})
    before, after = printed("Tue Dec 1 2026\n"), printed("Wed Dec 2 2026\n")
    assert differences(plain.state(before), plain.state(after)) == ()
    (change,) = differences(looking.state(before), looking.state(after))
    assert (change.before, change.after) == ("exit status 0: Tue Dec 1 2026", "exit status 0: Wed Dec 2 2026")


def test_headline_of_the_gpus():
    condition, seen = case("gpu/held")
    assert condition.headline(seen) == "8 \N{MULTIPLICATION SIGN} RTX PRO 6000 Blackwell · driver 580.95.05"
    condition, seen = case("gpu/driver-too-old")
    assert condition.headline(seen) == "driver 570.153.02"
    condition, seen = case("gpu/no-nvidia-smi")
    assert condition.headline(seen) is None


def test_all_gpu_conditions_of_a_batch_ask_nvidia_smi_once():
    several = ({"count": 8}, {"name": {"contains": "B200"}}, {"mig": "disabled", "memory": "90GiB"})
    assert len({query for arguments in several for query in read("gpu", arguments).queries()}) == 1


def test_conditions_on_one_environment_ask_for_its_distributions_once():
    kinds = [("package", {**V, "name": "torch"}), ("package", {**V, "name": "sglang"}), ("packages_consistent", V)]
    assert len({query for kind, arguments in kinds for query in read(kind, arguments).queries()}) == 1


def test_a_secret_in_the_environment_of_a_command_stays_one():
    condition = read("command", {"run": "curl -sf localhost", "env": {"TOKEN": Secret("hunter2")}})
    (query,) = condition.queries()
    assert "hunter2" not in f"{query!r} {condition!r} {condition.describe()} {query.key}"
    assert query.arguments["env"] == {"TOKEN": Secret("hunter2")}
