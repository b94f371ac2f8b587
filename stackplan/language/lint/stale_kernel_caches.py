"""torch or CUDA replaced, and the kernels compiled by the old one left in the caches."""

import re
from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject

_CACHES = re.compile(
    r"\.triton|torch_extensions|torchinductor|\.cache/(?:flashinfer|vllm|torch)|TRITON_CACHE|FLASHINFER_"
)


def check(subject: Subject) -> Iterator[Finding]:
    step = subject.torch_step
    if step is None or "create" in step.arguments or not any(it.tag for it in subject.installing):
        return
    if "no_stale_caches" in subject.condition_kinds or "clear_caches" in subject.action_kinds:
        return
    removing = (it for other in subject.running for it in other.commands if it.program in ("rm", "find"))
    if not any(_CACHES.search(it.text) for it in removing):
        summary = "kernels that the old torch compiled stay in the users' caches and are loaded by the new one"
        remedy = "add a step `clear_caches: {venv: …}` behind it, or the postcondition `no_stale_caches`"
        yield Finding(summary, step.step.action.at, remedy, step.id)


RULE = warning(
    "SP123",
    "a torch change without a look at the kernel caches",
    "~/.triton/cache, torch_extensions, inductor's and flashinfer's caches hold compiled kernels. They are keyed by "
    "less than what they depend on: after an upgrade old ones are loaded, and the result is an undefined symbol, a "
    "hang, or wrong output without any failure. `clear_caches` removes what is stale, `no_stale_caches` states that "
    "nothing is.",
    check,
)
