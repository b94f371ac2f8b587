"""A CUDA 13 stack without a look at the driver before anything is replaced."""

import re
from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Looked, Statement, Subject
from stackplan.language.lint._wanted import LABELLED, cuda_of

# CUDA release notes, "CUDA Toolkit and Minimum Required NVIDIA Driver Version for CUDA Minor Version Compatibility".
_FLOOR = {13: 580, 12: 525}


def check(subject: Subject) -> Iterator[Finding]:
    target = next(((step, major) for step in subject.installing if (major := _major(step)) == 13), None)
    if target is None:
        return
    step, major = target
    before = [(it, None) for it in subject.preconditions]
    before += [(it, None) for other in subject.steps if other.number <= step.number for it in other.preconditions]
    before += [(it, None) for other in subject.steps if other.number < step.number for it in other.postconditions]
    stated = [it for it, _ in before if _states_driver(it)]
    if not stated:
        summary = f"nothing looks at the driver before this step, and CUDA {major} needs {_FLOOR[major]} or newer"
        remedy = f'add the precondition `gpu: {{driver: ">={_FLOOR[major]}"}}` to the playbook'
        yield Finding(summary, step.step.action.at, remedy, step.id)
    for it in stated:
        low = re.fullmatch(r">=\s*(\d+)(?:\.[\d.]+)?", it.text("driver") or "")
        if it.kind == "gpu" and low and int(low[1]) < _FLOOR[major]:
            summary = f"driver {low[1]} passes this and is too old for CUDA {major}, which needs {_FLOOR[major]}"
            yield Finding(summary, it.arguments.place("driver"), f'write ">={_FLOOR[major]}"', step.id)


def _major(step: Looked) -> int | None:
    for it in step.wanted:
        release = cuda_of(step.own.build(it))
        if it.name in LABELLED and release is not None:
            return release[0]
    return None


def _states_driver(it: Statement) -> bool:
    return (it.kind == "gpu" and "driver" in it.arguments) or it.kind == "driver_coherent"


RULE = warning(
    "SP121",
    "a CUDA 13 stack, and nothing that looks at the driver first",
    "Only the major version binds: CUDA 12 builds run on older drivers of the 12 series, CUDA 13 builds start on 580 "
    "or newer alone. On 570 torch says `The NVIDIA driver on your system is too old` as a warning and goes on "
    "without GPU, with exit status 0. Ask for the driver in the playbook's preconditions, so that the node stops "
    "before its working packages are replaced.",
    check,
)
