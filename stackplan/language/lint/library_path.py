"""LD_LIBRARY_PATH in front of the libraries that the environment brings."""

import re
from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject

_CUDA = re.compile(r"cuda|nvidia", re.IGNORECASE)
_ASSIGNED = re.compile(r"LD_LIBRARY_PATH\+?=(?P<value>.*)", re.DOTALL)


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.steps:
        found = [(value, at) for name, value, at in step.environment if name == "LD_LIBRARY_PATH"]
        for it in step.commands:
            words = (_ASSIGNED.match(word) for word in (*it.words, *it.assignments))
            found += [(match["value"], step.command_at(it)) for match in words if match]
        for value, at in found:
            if isinstance(value, str) and _CUDA.search(value):
                summary = "these libraries go before those that torch brings along, under the same names"
                if "compat" in value:
                    summary = "a compat folder puts another user-space driver before the one of the kernel module"
                yield Finding(summary, at, "take it out: wheels find their own libraries", step.id)


RULE = warning(
    "SP181",
    "LD_LIBRARY_PATH with CUDA libraries",
    "Wheels of torch carry CUDA libraries and find them by their own path, but LD_LIBRARY_PATH comes first. An older "
    "library of the same name then loads: `undefined symbol: __nvJitLinkAddData_12_1`. A `compat` folder replaces the "
    "driver's own library, which works on data-centre GPUs alone (error 804).",
    check,
)
