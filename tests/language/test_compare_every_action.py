"""Every kind of action against every other, and every argument of every kind: what a change of it is marked as."""

import json
from itertools import permutations
from pathlib import Path

import pytest
import yaml

from stackplan.language.compare import Version, compare
from stackplan.model.comparison import Effect, Side
from stackplan.model.room import ACTIONS

SIDES = Side(label="old", path="p.yaml"), Side(label="new", path="p.yaml")
SCHEMAS = Path(__file__).parents[2] / "schemas" / "actions"
LESS, LOOK, QUIET = Effect.WEAKER, Effect.NOTE, None
SHA, OTHER_SHA = "0" * 64, "1" * 64

WHOLE = {
    "apt_packages": {"install": ["a=1"], "hold": ["a"]},
    "checkpoint": {},
    "clear_caches": {"venv": "~/e"},
    "cuda_toolkit": {"version": "13.0"},
    "download": {"url": "http://h/x", "path": "/x", "sha256": SHA, "mode": "0644"},
    "file": {"path": "/x", "content": "a", "mode": "0644", "owner": "root", "group": "root"},
    "kubernetes_node": {"state": "drain", "node": "n"},
    "python_packages": {"venv": "~/e", "packages": ["x"]},
    "reboot": {},
    "run": {"script": "x"},
    "service": {"name": "s", "state": "started", "enabled": True},
    "slurm_node": {"state": "drain", "reason": "r"},
    "symlink": {"path": "/x", "target": "/y"},
}
"""Of each kind an action that proves what the kind can prove."""

PROVE_NOTHING = {"checkpoint", "run"}
"""Kinds that bring nothing along to be proven."""

ARGUMENTS = {
    "apt_packages": {
        "install": (["a=1", "b=1"], ["a=1"], LESS),
        "remove": (["b", "c"], ["b"], LESS),
        "hold": (["a"], None, LESS),
        "update": (True, None, QUIET),
        "lock_timeout": ("5m", "6m", LOOK),
    },
    "clear_caches": {
        "venv": ("~/e", "~/f", LOOK),
        "python": ("/usr/bin/python3", "/opt/python3", LOOK),
        "user": ("a", "b", LOOK),
    },
    "cuda_toolkit": {
        "version": ("13.0", "12.8", LOOK),
        "method": ("runfile", "apt", LOOK),
        "url": ("http://h/x", "http://h/y", QUIET),
        "path": ("/a.run", "/b.run", QUIET),
        "sha256": (SHA, None, LESS),
        "prefix": ("/usr/local/a", "/usr/local/b", LOOK),
        "packages": (["cuda-nvcc-13-0"], ["cuda-toolkit-13-0"], QUIET),
        "default": (True, False, QUIET),
    },
    "download": {
        "url": ("http://h/x", "http://h/y", QUIET),
        "sha256": (SHA, OTHER_SHA, LOOK),
        "path": ("/x", "/y", LESS),
        "mode": ("0640", "0644", LOOK),
    },
    "file": {
        "path": ("/x", "/y", LESS),
        "content": ("a", "b", LOOK),
        # Of files the text counts, which is `content`; these are not there.
        "template": ("a.jinja", "b.jinja", QUIET),
        "source": ("a", "b", QUIET),
        "mode": ("0640", "0644", LOOK),
        "owner": ("root", "ops", LOOK),
        "group": ("root", None, LESS),
    },
    "kubernetes_node": {
        "state": ("drain", "uncordon", LESS),
        "timeout": ("20m", "30m", LOOK),
        "grace": ("1m", "2m", LOOK),
        "on_timeout": ("take-back", "stay", QUIET),
        "delete_emptydir_data": (None, True, QUIET),
        "force": (None, True, QUIET),
        "node": ("n", "m", LOOK),
        "kubeconfig": ("/a", "/b", LOOK),
        "context": ("a", "b", LOOK),
    },
    "python_packages": {
        "venv": ("~/e", "~/f", LOOK),
        "packages": (["x", "y"], ["x"], QUIET),
        "requirements": ("/a.txt", "/b.txt", QUIET),
        "constraints": ("/a.txt", None, QUIET),
        "overrides": ("/a.txt", None, QUIET),
        "index_url": ("http://h/", "http://i/", QUIET),
        "extra_index_urls": (["http://h/"], None, QUIET),
        "find_links": (["/a"], None, QUIET),
        "index_strategy": ("first-index", "unsafe-best-match", QUIET),
        "torch_backend": ("cu130", None, QUIET),
        "upgrade": (True, None, QUIET),
        "reinstall": (True, None, QUIET),
        "prerelease": ("allow", None, QUIET),
        "no_deps": (None, True, QUIET),
        "only_binary": (True, None, QUIET),
        "remove": (["z"], None, QUIET),
        "installer": ("uv", "pip", QUIET),
        "inherit_config": (None, True, QUIET),
        "create": ({"python": "3.12"}, None, QUIET),
    },
    "reboot": {"timeout": ("9m", "90m", LOOK), "reason": ("a", "b", QUIET)},
    "run": {
        "script": ("x", "y", QUIET),
        "argv": (["x"], ["y"], QUIET),
        "env": ({"A": "1"}, None, QUIET),
        "cwd": ("/a", "/b", QUIET),
        "stdin": ("a", "b", QUIET),
    },
    "service": {
        "name": ("s", "t", LESS),
        "state": ("restarted", "started", LOOK),
        "enabled": (True, None, LESS),
    },
    "slurm_node": {
        "state": ("drain", "resume", LOOK),
        "reason": ("a", "b", QUIET),
        "timeout": ("20m", "30m", LOOK),
        "on_timeout": ("take-back", "stay", QUIET),
        "node": ("n", "m", LOOK),
    },
    "symlink": {"path": ("/x", "/y", LOOK), "target": ("/y", "/z", LOOK)},
    "checkpoint": {},
}
PLACES = {"python_packages": "venv", "download": "path", "file": "path"}
EVERY = [(kind, key) for kind, keys in ARGUMENTS.items() for key in keys]


@pytest.fixture
def loudest(read):
    """Compare a step of one action with one of another; tell the loudest mark, None where nothing is marked."""

    def found(old, new):
        sides = []
        for side, action in zip(SIDES, (old, new), strict=True):
            ((kind, arguments),) = action.items()
            step = f"\n  - id: a\n    {kind}: {json.dumps(arguments)}\n    postconditions: [command: {{run: 'true'}}]"
            sides.append(Version(side, read(step, name=f"{side.label}.yaml")))
        effects = {it.effect for it in compare(*sides).weakened}
        return LESS if LESS in effects else LOOK if LOOK in effects else QUIET

    return found


def test_every_kind_and_every_argument_is_in_the_tables():
    assert set(WHOLE) == set(ARGUMENTS) == set(ACTIONS.builtin())
    for kind, keys in ARGUMENTS.items():
        schema = yaml.safe_load((SCHEMAS / f"{kind}.json").read_text())
        assert set(keys) == set(schema.get("properties", {})), kind


@pytest.mark.parametrize(("old", "new"), list(permutations(WHOLE, 2)))
def test_another_kind_of_action_never_goes_unmarked(loudest, old, new):
    mark = loudest({old: WHOLE[old]}, {new: WHOLE[new]})
    if old == "checkpoint":
        assert mark is QUIET, "it did nothing and proved nothing"
    elif old in PROVE_NOTHING:
        assert mark is (LOOK if new in PROVE_NOTHING else QUIET), "whatever is proven besides is more"
    else:
        assert mark in (LESS, LOOK)


@pytest.mark.parametrize("new", [it for it in WHOLE if it != "reboot"])
def test_a_restart_proves_another_boot_and_whatever_comes_in_its_place_does_not(loudest, new):
    assert loudest({"reboot": {}}, {new: WHOLE[new]}) is LESS


@pytest.mark.parametrize(("kind", "key"), EVERY)
def test_an_argument_that_changes_is_marked_by_what_it_proves(loudest, kind, key):
    before, after, mark = ARGUMENTS[kind][key]
    old, new = ({**_base(kind, key), key: value} for value in (before, after))
    assert loudest({kind: _written(old)}, {kind: _written(new)}) is mark


@pytest.mark.parametrize(("kind", "key"), [it for it in EVERY if it[0] in PLACES and it[1] != PLACES[it[0]]])
def test_a_template_beside_it_changes_no_mark(loudest, kind, key):
    before, after, mark = ARGUMENTS[kind][key]
    base = {**_base(kind, key), PLACES[kind]: "{{ node.labels.place }}"}
    old, new = ({**base, key: value} for value in (before, after))
    assert loudest({kind: _written(old)}, {kind: _written(new)}) is mark


def _base(kind, key):
    """Return the arguments that stand beside one: those that it needs, and none that it excludes."""
    instead = {
        "template": ("content",), "source": ("content",), "argv": ("script",),
    }.get(key, ())  # fmt: skip
    beside = {"path": {"sha256": SHA}, "url": {"sha256": SHA}, "sha256": {"url": "http://h/x"}}
    more = beside.get(key, {}) if kind == "cuda_toolkit" else {}
    if (kind, key) == ("clear_caches", "python"):
        instead = ("venv",)
    if key == "stdin":
        instead, more = ("script",), {"argv": ["x"]}
    return {**{name: value for name, value in WHOLE[kind].items() if name not in instead}, **more}


def _written(arguments):
    return {key: value for key, value in arguments.items() if value is not None}
