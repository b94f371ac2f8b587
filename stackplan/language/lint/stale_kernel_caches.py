"""torch or CUDA replaced, and the kernels compiled by the old one left in the caches."""

from collections.abc import Iterator

from stackplan.language.lint._environment import environment_of, last_looks, torch_steps
from stackplan.language.lint._rule import Finding, warning
from stackplan.language.lint._subject import Subject
from stackplan.model.regular import regular

_CACHES = regular(r"\.triton|torch_extensions|torchinductor|\.cache/(?:flashinfer|vllm|torch)|TRITON_CACHE|FLASHINFER_")
_REMOVING = ("rm", "find")


def check(subject: Subject) -> Iterator[Finding]:
    changed = torch_steps(subject)
    tagged = {environment_of(it.arguments) for it in subject.installing if it.tag}
    if not tagged & changed.keys() or _removes_all(subject):
        return
    # Where in the playbook they are looked at makes no difference here.
    states = [(0, it) for it, _, _ in subject.conditions if it.kind == "no_stale_caches"]
    last = last_looks(changed, [*states, *((0, it) for it in subject.steps if it.kind == "clear_caches")])
    for environment, step in changed.items():
        if environment in tagged and "create" not in step.arguments and last[environment] < 0:
            summary = "kernels that the old torch compiled stay in the users' caches and are loaded by the new one"
            remedy = "add a step `clear_caches: {venv: …}` behind it, or the postcondition `no_stale_caches`"
            yield Finding(summary, step.step.action.at, remedy, step.id)


def _removes_all(subject: Subject) -> bool:
    """Return whether a script removes caches, which are the user's and so those of every environment."""
    removing = (
        it for step in subject.running if step.mentions(*_REMOVING) for it in step.commands if it.program in _REMOVING
    )
    return any(_CACHES.search(it.text) for it in removing)


RULE = warning(
    "SP123",
    "a torch change without a look at the kernel caches",
    "~/.triton/cache, torch_extensions, inductor's and flashinfer's caches hold compiled kernels. They are keyed by "
    "less than what they depend on: after an upgrade old ones are loaded, and the result is an undefined symbol, a "
    "hang, or wrong output without any failure. `clear_caches` removes what is stale, `no_stale_caches` states that "
    "nothing is, each for one environment.",
    check,
)
