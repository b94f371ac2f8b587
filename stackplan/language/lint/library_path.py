"""LD_LIBRARY_PATH in front of the libraries that the environment brings."""

import re
from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject
from stackplan.model.regular import regular

# Plugins of NCCL for a network (ofi-nccl, aws-ofi-nccl) hold no library that a wheel brings too.
_CUDA = regular(r"cuda|nvidia|(?<!ofi-)nccl|cudnn", re.IGNORECASE)


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.steps:
        for it in step.settings:
            if it.name == "LD_LIBRARY_PATH" and isinstance(it.value, str) and _CUDA.search(it.value):
                summary = "these libraries go before those that torch brings along, under the same names"
                if "compat" in it.value:
                    summary = "a compat folder puts another user-space driver before the one of the kernel module"
                yield Finding(summary, it.at, "take it out: wheels find their own libraries", step.id)


RULE = warning(
    "SP181",
    "LD_LIBRARY_PATH with CUDA libraries",
    "Wheels of torch carry CUDA libraries and find them by their own path, but LD_LIBRARY_PATH comes first. An older "
    "library of the same name then loads: `undefined symbol: __nvJitLinkAddData_12_1`. A `compat` folder replaces the "
    "driver's own library, which works on data-centre GPUs alone (error 804).",
    check,
    by_step=True,
)
