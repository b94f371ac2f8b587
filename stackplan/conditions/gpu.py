"""The kind `gpu`: the GPUs of a node, their driver, and who uses them."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Self

from stackplan.conditions._answers import listed, mapping, rows, unanswered
from stackplan.conditions._gpu_statement import Row, Statement, matched, roomy, sound, switched
from stackplan.conditions._specifier import Specifier, read_specifier, version_verdict
from stackplan.model.arguments import Arguments
from stackplan.model.concern import Concern, Matter
from stackplan.model.facts import Facts, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ConditionKind
from stackplan.model.matcher import Matcher, read_matcher
from stackplan.model.regular import regular
from stackplan.model.verdict import Verdict, conjunction, held, not_held, unknown

# They watch and keep the GPUs, and are no work on them; the kernel keeps 15 characters of a program's name.
_WATCHERS = regular(r"nvidia-smi|nvidia-persiste|nv-fabricmanage|nv-hostengine|dcgm-exporter|nvidia-device-p|dcgmi")
_SWITCH = ("enabled", "disabled")


@dataclass(frozen=True, slots=True)
class Gpu(ConditionKind):
    """What GPUs there are, and what state they are in; what is stated of a GPU has to hold for every one of them.

    Rests on one run of `nvidia-smi --query-gpu` for all conditions of a step; the driver's version on what the kernel
    has loaded. A field that the driver does not know, or gives no value for, is unknown, never zero. `processes: none`
    looks at nvidia-smi's list and at who holds /dev/nvidia* open, and is unknown in a container, which sees neither; of
    other users' processes only root sees what they hold. It does not see whether the user-space libraries fit the
    driver.
    """

    foreseeable: ClassVar[bool] = True

    count: int | None = None
    name: Matcher | None = None
    compute_capability: Matcher | None = None
    driver: Specifier | None = None
    memory: int | None = None
    processes: bool = False
    ecc_errors: int | None = None
    mig: str | None = None
    persistence: str | None = None

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        if "processes" in arguments and arguments.text("processes") != "none":
            raise arguments.invalid("processes", "`processes` can only be none", expected="none")
        gpu = cls(
            count=arguments.optional_integer("count"),
            name=read_matcher(arguments, "name"),
            compute_capability=read_matcher(arguments, "compute_capability"),
            driver=read_specifier(arguments, "driver"),
            memory=arguments.optional_size_bytes("memory"),
            processes="processes" in arguments,
            ecc_errors=0 if arguments.values.get("ecc_errors") == "none" else arguments.optional_integer("ecc_errors"),
            mig=_read_switch(arguments, "mig"),
            persistence=_read_switch(arguments, "persistence"),
        )
        if gpu == cls():
            raise arguments.invalid("count", "`gpu` states nothing", expected="for instance `count: 8`")
        return gpu

    def describe(self) -> str:
        stated = (
            self.count is not None and _counted(self.count),
            *(it.text for it in self._statements),
            self.driver and f"driver {self.driver.text}",
            self.processes and "no process on the GPUs",
        )
        return ", ".join(part for part in stated if part)

    def concerns(self) -> tuple[Concern, ...]:
        return (Concern(Matter.PROGRAM, "nvidia-smi"),)

    def queries(self) -> tuple[Query, ...]:
        asked = ((_GPUS, self._asks_rows), (_DRIVER, self.driver is not None), (_PROCESSES, self.processes))
        return tuple(query for query, needed in asked if needed)

    def evaluate(self, facts: Facts) -> Verdict:
        parts: list[Verdict] = []
        if self._asks_rows:
            answer = facts[_GPUS]
            told = mapping(answer)
            if told is None:
                parts.append(unanswered(replace(self, driver=None, processes=False).describe(), answer))
            else:
                parts.extend(self._of_rows(rows(told["gpus"])))
        if self.driver is not None:
            parts.append(self._of_driver(facts, self.driver))
        if self.processes:
            parts.append(_of_processes(facts))
        return conjunction(self.describe(), tuple(parts))

    def headline(self, facts: Facts) -> str | None:
        """Return products and driver, as far as these facts tell them."""
        told = self.traits(facts)
        parts = (told.get("GPUs"), told.get("driver") and f"driver {told['driver']}")
        return " · ".join(part for part in parts if part) or None

    def traits(self, facts: Facts) -> Mapping[str, str]:
        found: dict[str, str] = {}
        if self._asks_rows and (told := mapping(facts[_GPUS])) is not None:
            gpus = rows(told["gpus"])
            names = Counter(_short(str(gpu["name"])) for gpu in gpus if gpu.get("name") is not None)
            if names:
                found["GPUs"] = " · ".join(f"{count} \N{MULTIPLICATION SIGN} {name}" for name, count in names.items())
            drivers = {str(gpu["driver"]) for gpu in gpus if gpu.get("driver") is not None}
        elif self.driver is not None and (told := mapping(facts[_DRIVER])) is not None:
            drivers = {str(told["version"])}
        else:
            return {}
        return found | ({"driver": ", ".join(sorted(drivers))} if drivers else {})

    @property
    def _asks_rows(self) -> bool:
        return self.count is not None or bool(self._statements)

    @property
    def _statements(self) -> tuple[Statement, ...]:
        stated = (
            matched("name", "GPU name", self.name),
            matched("compute_capability", "compute capability", self.compute_capability),
            roomy(self.memory),
            sound(self.ecc_errors),
            switched("mig", "MIG", self.mig),
            switched("persistence", "persistence mode", self.persistence),
        )
        return tuple(it for it in stated if it is not None)

    def _of_rows(self, gpus: tuple[Row, ...]) -> list[Verdict]:
        # A GPU that has no MIG says that it has no value, and that is as good as switched off.
        plain = tuple({**gpu, "mig": "disabled"} if gpu.get("mig", "") is None else gpu for gpu in gpus)
        parts = [it.verdict(plain) for it in self._statements]
        if self.count is not None:
            text, observed = _counted(self.count), _counted(len(gpus))
            same = len(gpus) == self.count
            parts.insert(0, held(text, observed=observed) if same else not_held(text, expected=text, observed=observed))
        return parts

    def _of_driver(self, facts: Facts, wanted: Specifier) -> Verdict:
        text = f"driver {wanted.text}"
        told = mapping(facts[_DRIVER])
        if told is None:
            return unanswered(text, facts[_DRIVER], expected=wanted.text)
        return version_verdict(text, wanted, str(told["version"]), f"from {told['source']}")


_GPUS = Query("gpus", {})
_DRIVER = Query("gpu_driver", {})
_PROCESSES = Query("gpu_processes", {})


def _read_switch(arguments: Arguments, key: str) -> str | None:
    if key not in arguments:
        return None
    text = arguments.text(key)
    if text not in _SWITCH:
        raise arguments.invalid(key, f"`{key}` can be enabled or disabled", expected="enabled or disabled")
    return text


def _counted(count: int) -> str:
    return "1 GPU" if count == 1 else f"{count or 'no'} GPU{'s' if count else ''}"


def _of_processes(facts: Facts) -> Verdict:
    text = "no process on the GPUs"
    told = mapping(facts[_PROCESSES])
    if told is None:
        return unanswered(text, facts[_PROCESSES], expected="none")
    found = {row["pid"]: f"{row['name']} ({row['pid']})" for row in rows(told["holders"]) if _works(row)}
    found |= {row["pid"]: f"{row['name']} ({row['pid']})" for row in rows(told["listed"])}
    if found:
        return not_held(text, expected="none", observed=listed(list(found.values())))
    if not told["sees_node"]:
        return unknown(text, why="this is a container, which does not see the node's processes", expected="none")
    hidden = told["hidden"]
    return held(text, observed="none", evidence=_evidence(hidden if isinstance(hidden, int) else 0))


def _evidence(hidden: int) -> str | None:
    """Return what the answer rests on where the processes of other users could not be looked into."""
    if not hidden:
        return None
    return f"nvidia-smi; what {hidden} other {'process' if hidden == 1 else 'processes'} hold open could not be read"


def _works(holder: Row) -> bool:
    """Return whether a process that holds GPU devices works on them; watchers never open the memory's device."""
    devices = holder["devices"]
    assert isinstance(devices, list)
    return "nvidia-uvm" in devices or _WATCHERS.match(str(holder["name"])) is None


def _short(name: str) -> str:
    """Return a product's name without its maker and its edition."""
    return re.sub(r"^NVIDIA | (Server|Workstation|Max-Q Workstation) Edition$", "", name)


KIND = Gpu
