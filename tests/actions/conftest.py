"""What every test of an action needs: arguments with places, facts, evidence."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from stackplan.actions.python_packages import KIND as PYTHON_PACKAGES
from stackplan.model.arguments import Arguments
from stackplan.model.change import Change
from stackplan.model.distribution import distributions_query
from stackplan.model.facts import Facts, Known, Origin, Query
from stackplan.model.job import Exited
from stackplan.model.kind import Evidence
from stackplan.model.location import Location
from stackplan.model.outcome import Reason
from stackplan.model.secret import Secret
from stackplan.model.verdict import not_held

PATH = "playbooks/p.yaml"


def _value(value):
    if isinstance(value, Mapping):
        return {key: _value(item) for key, item in value.items()}
    return tuple(_value(item) for item in value) if isinstance(value, (list, tuple)) else value


def _places(values):
    """Give the mapping the place 37:7, each of its keys a line of its own from there, each item of a list a column."""
    places = {}
    for index, (key, value) in enumerate(values.items()):
        places[(key,)] = Location(PATH, 37 + index, 7)
        if isinstance(value, (list, tuple)):
            places.update({(key, item): Location(PATH, 37 + index, 20 + 10 * item) for item in range(len(value))})
    return places


@pytest.fixture
def arguments():
    """Return Arguments that stand at playbooks/p.yaml:37:7."""

    def build(**values):
        return Arguments(_value(values), Location(PATH, 37, 7), _places(values))

    return build


@pytest.fixture
def facts():
    """Return Facts of answers by query; a bare value is Known."""

    def build(answers):
        known = {
            query: answer if type(answer).__module__ == "stackplan.model.facts" else Known(answer)
            for query, answer in answers.items()
        }
        return Facts("gpu-01", Origin.LIVE, "2026-12-01T03:10:22Z", known)

    return build


def installer_answer(**changed):
    """Return what the query `installer` answers on a node in order, with some of it `changed`."""
    return {
        "user": "ops",
        "home": "/home/ops",
        "venv": "/home/ops/ml-env",
        "kind": "environment",
        "interpreter": "/home/ops/ml-env/bin/python",
        "owner": "ops",
        "writable": True,
        "obstacle": None,
        "parent": {"path": "/home/ops", "owner": "ops", "writable": True},
        "uv": {"path": "/home/ops/.local/bin/uv", "version": "0.13.9"},
        "pip": {"version": "26.3"},
        "python": None,
        "ignored": {"variables": [], "files": []},
        **changed,
    }


def distributions_answer(*rows):
    """Return what the query `distributions` answers for rows of (name, version, requires)."""
    return {
        "path": "/home/ops/ml-env",
        "exists": True,
        "environment": True,
        "distributions": [
            {
                "name": name,
                "version": version,
                "folder": f"{name.replace('-', '_')}-{version}.dist-info",
                "requires": list(requires),
                "record_sha256": "0" * 64,
            }
            for name, version, *requires in rows
        ],
    }


@pytest.fixture
def environment_facts(facts):
    """Return Facts of an environment that holds these rows; `installer` changes what the node has to install with."""

    def build(*rows, findings=None, asked_python=None, **installer):
        venv = "~/ml-env"
        return facts(
            {
                Query("installer", {"venv": venv, "python": asked_python}): installer_answer(**installer),
                distributions_query(venv=venv): distributions_answer(*rows),
                Query("records", {"venv": venv}): {"findings": findings or {}},
            }
        )

    return build


@pytest.fixture
def evidence(environment_facts):
    """Return the Evidence of an action that ended and did not lead where it should."""

    def build(arguments, before, after=None, *, code=0, output="", reason=Reason.NO_OP, **more):
        return Evidence(
            step="torch",
            at=Location(PATH, 35, 5),
            arguments=arguments,
            before=environment_facts(*before, **more.pop("node", {})),
            after=environment_facts(*(before if after is None else after), findings=more.pop("findings", None)),
            ending=Exited(code),
            output=output,
            reason=reason,
            **more,
        )

    return build


@pytest.fixture
def secret():
    return Secret("hunter2-hunter2")


@pytest.fixture
def said_of_kernel(arguments, evidence):
    """Return what the kind says where a condition observed this after the kernel was installed."""

    def build(
        observed,
        *,
        text="import sgl_kernel",
        expected="it imports",
        reason=Reason.POSTCONDITION,
        playbook=None,
        answers=None,
        **values,
    ):
        given = {"packages": ["sgl-kernel"], "index_url": "https://download.pytorch.org/whl/cu130", **values}
        read = arguments(venv="~/ml-env", **given)
        torch = ("torch", "2.11.0+cu130")
        told = evidence(
            read,
            [torch],
            [torch, ("sgl-kernel", "0.3.21")],
            reason=reason,
            changes=(Change("package", "sgl-kernel", None, "0.3.21"),),
            unmet=(not_held(text, expected=expected, observed=observed),),
            playbook=playbook,
        )
        more = {query: Known(value) for query, value in (answers or {}).items()}
        after = replace(told.after, answers={**told.after.answers, **more})
        return PYTHON_PACKAGES.read(read).diagnose(replace(told, after=after))

    return build
