"""What of a node's environment a kind changes or rests on: what an audit of that environment looks at."""

import enum
from collections.abc import Iterable, Mapping

from stackplan.model.arguments import Value
from stackplan.model.frozen import dataclass
from stackplan.model.regular import regular

_INSTALLERS = {"uv": "uv", "pip": "pip", "pip3": "pip"}
# A word of a script, not a part of a path, which no search path is needed for; `uv pip` starts no pip.
_NAMED = regular(r"(?<![\w./-])(uv|(?<!uv )pip3?|nvcc|nvidia-smi|sudo)(?![\w./-])")


class Matter(enum.Enum):
    """ENVIRONMENT: a Python environment's folder. PROGRAM: one that is found by a search path. TOOLKIT: a CUDA
    toolkit's folder. SETTINGS: those of an installer, by its name, which the node's own variables and files decide.
    """

    ENVIRONMENT = "environment"
    PROGRAM = "program"
    TOOLKIT = "toolkit"
    SETTINGS = "settings"


@dataclass(frozen=True, slots=True)
class Concern:
    """One matter, by its name as the playbook writes it; `changed`: a step changes it."""

    matter: Matter
    name: str
    changed: bool = False


def environments(asked: Iterable[Mapping[str, Value]]) -> tuple[Concern, ...]:
    """Return the environments that questions name in `venv`."""
    folders = dict.fromkeys(it.get("venv") for it in asked)
    return tuple(Concern(Matter.ENVIRONMENT, it) for it in folders if isinstance(it, str))


def named(script: str) -> tuple[Concern, ...]:
    """Return the programs of the GPU stack that a script names, with the settings of the installers among them."""
    words = dict.fromkeys(_NAMED.findall(" ".join(script.split())))
    settings = dict.fromkeys(_INSTALLERS[word] for word in words if word in _INSTALLERS)
    programs = tuple(Concern(Matter.PROGRAM, it) for it in words)
    return programs + tuple(Concern(Matter.SETTINGS, it) for it in settings)
