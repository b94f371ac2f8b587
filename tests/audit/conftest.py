"""What a node may tell of its environment, and what the audit makes of it."""

import copy

import pytest

from stackplan.audit.audit import audit
from stackplan.audit.subject import subject
from stackplan.model.concern import Concern, Matter
from stackplan.model.facts import Known

GIB = 1024**3
ENVIRONMENT = Concern(Matter.ENVIRONMENT, "~/ml-env", changed=True)
UV = Concern(Matter.PROGRAM, "uv")
NVCC = Concern(Matter.PROGRAM, "nvcc")


def place(name, variables=None, programs=None, fault=None, *, noisy=False):
    found = {key: None if it is None else {"path": it, "leads_to": it} for key, it in (programs or {}).items()}
    return {"name": name, "fault": fault, "noisy": noisy, "variables": variables or {}, "programs": found}


def healthy():
    """The answer of a node on which nothing is odd."""
    uv = {"uv": "/usr/bin/uv"}
    return {
        "user": "ops",
        "shell": "/bin/bash",
        "contexts": [place(name, programs=uv) for name in ("step", "login", "interactive")],
        "services": [],
        "libraries": {},
        "toolkits": {},
        "configuration": [],
        "environments": [
            {
                "venv": "~/ml-env",
                "path": "/home/ops/ml-env",
                "exists": True,
                "owner": "ops",
                "system_packages": False,
                "conda": False,
                "foreign": [],
                "customized": [],
                "project": None,
                "project_environment": False,
                "namesakes": [],
            }
        ],
        "processes": [],
        "space": [
            {"role": role, "path": f"/home/ops/{role}", "filesystem": 0, "free_bytes": 20 * GIB}
            for role in ("environment", "cache", "temporary")
        ],
    }


@pytest.fixture
def told():
    return copy.deepcopy(healthy())


@pytest.fixture
def looked():
    """Return a function that audits an answer for what a playbook is concerned with, and returns findings by code."""

    def look(told, *concerns):
        about = subject(None, concerns or (ENVIRONMENT, UV))
        assert about is not None
        found = {}
        for it in audit(about, Known(told)):
            found.setdefault(it.code, []).append(it)
        return found

    return look
