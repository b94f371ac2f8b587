"""The kind `cuda_link`: what /usr/local/cuda, CUDA_HOME and the shells' nvcc lead to."""

import re
from collections.abc import Iterator, Mapping
from typing import Self

from stackplan.conditions._answers import mapping, rows, unanswered
from stackplan.conditions._release import release_matches
from stackplan.model.arguments import Arguments
from stackplan.model.change import Held, State
from stackplan.model.facts import Facts, Plain, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ConditionKind
from stackplan.model.verdict import Verdict, conjunction, held, not_held, unknown

COMMON_LINK = "/usr/local/cuda"
_SHELLS = Query("shell_cuda", {})
_LINK = Query("link_end", {"path": COMMON_LINK})
Row = Mapping[str, Plain]


@dataclass(frozen=True, slots=True)
class CudaLink(ConditionKind):
    """The common link, CUDA_HOME and nvcc lead to one toolkit, in a login shell and in a non-interactive one.

    `target` is the end of /usr/local/cuda, links in between followed. `cuda_home` and `nvcc` are looked at in the
    step's user's own shell, started anew in both ways: it may differ in them, for what stands at the end of ~/.bashrc
    is often not reached. A login shell has to have them; a non-interactive one may lack them, but not lead elsewhere.
    nvcc is run, because it may be a script. A profile that hangs or fails leaves it unknown. It does not see what a
    service's unit sets.
    """

    target: str | None = None
    nvcc: str | None = None
    cuda_home: str | None = None

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        link = cls(_path(arguments, "target"), arguments.optional_text("nvcc"), _path(arguments, "cuda_home"))
        if link == cls():
            expected = "`target`, `nvcc`, `cuda_home`, or more than one of them"
            raise arguments.invalid("target", "`cuda_link` states nothing", expected=expected)
        if link.nvcc is not None and not re.fullmatch(r"\d+(\.\d+)?", link.nvcc):
            raise arguments.invalid("nvcc", "`nvcc` is not a release", expected="a release such as 13.0")
        return link

    def describe(self) -> str:
        stated = (
            self.target and f"{COMMON_LINK} leads to {self.target}",
            self.cuda_home and f"CUDA_HOME leads to {self.cuda_home}",
            self.nvcc and f"the shells' nvcc is {self.nvcc}",
        )
        return ", ".join(part for part in stated if part)

    def queries(self) -> tuple[Query, ...]:
        shells = (_SHELLS,) if self.nvcc is not None or self.cuda_home is not None else ()
        return (_LINK, *shells) if self.target is not None else shells

    def evaluate(self, facts: Facts) -> Verdict:
        parts = []
        if self.target is not None:
            parts.append(_of_link(facts, self.target))
        if self.nvcc is not None or self.cuda_home is not None:
            parts.extend(self._of_shells(facts))
        verdict = conjunction(self.describe(), tuple(parts))
        if not verdict.held:
            return verdict
        # The shells mostly agree, and one word is enough for both.
        seen = ", ".join(dict.fromkeys(part.observed for part in parts if part.observed))
        return held(self.describe(), observed=seen, evidence=verdict.evidence)

    def state(self, facts: Facts) -> State:
        told = mapping(facts[_LINK]) if self.target is not None else None
        if told is None or told["kind"] in ("missing", "dangling"):
            return {}
        return {("toolkit", COMMON_LINK): Held(str(told["leads_to"]))}

    def _of_shells(self, facts: Facts) -> Iterator[Verdict]:
        told = mapping(facts[_SHELLS])
        if told is None:
            yield unanswered(self.describe(), facts[_SHELLS])
            return
        for shell in rows(told["shells"]):
            name = f"{shell['shell']} shell"
            if shell["fault"] is not None:
                yield unknown(f"CUDA in a {name}", why=str(shell["fault"]))
                continue
            required = shell["shell"] == "login"
            if self.cuda_home is not None:
                yield from _of_home(shell, name, self.cuda_home, required=required)
            if self.nvcc is not None:
                yield from _of_nvcc(shell, name, self.nvcc, required=required)


def _path(arguments: Arguments, key: str) -> str | None:
    path = arguments.optional_text(key)
    if path is not None and (not path.startswith("/") or "\n" in path):
        raise arguments.invalid(key, f"`{key}` is not a whole path", expected="a path such as /usr/local/cuda-13.0")
    return path if path is None or path == "/" else path.rstrip("/")


def _of_link(facts: Facts, target: str) -> Verdict:
    text = f"{COMMON_LINK} leads to {target}"
    told = mapping(facts[_LINK])
    if told is None:
        return unanswered(text, facts[_LINK], expected=target)
    end = str(told["leads_to"])
    if told["kind"] == "missing":
        return not_held(text, expected=target, observed=f"there is no {COMMON_LINK}")
    if told["kind"] == "dangling":
        return not_held(text, expected=target, observed=f"{end}, which is missing")
    if end == target:
        return held(text, observed=end)
    observed = f"a folder of its own at {end}" if told["kind"] == "folder" else end
    return not_held(text, expected=target, observed=observed)


def _of_home(shell: Row, name: str, wanted: str, *, required: bool) -> Iterator[Verdict]:
    text = f"CUDA_HOME of a {name} leads to {wanted}"
    if shell["cuda_home"] is None:
        if required:
            yield not_held(text, expected=wanted, observed="not set", evidence=str(shell["program"]))
        return
    written, end = str(shell["cuda_home"]), shell["cuda_home_leads_to"]
    if end is None:
        yield not_held(text, expected=wanted, observed=f"{written}, which does not exist", evidence=name)
    elif wanted in (end, written.rstrip("/")):
        yield held(text, observed=str(end), evidence=f"CUDA_HOME={written} in a {name}")
    else:
        yield not_held(text, expected=wanted, observed=str(end), evidence=f"CUDA_HOME={written} in a {name}")


def _of_nvcc(shell: Row, name: str, wanted: str, *, required: bool) -> Iterator[Verdict]:
    text = f"nvcc of a {name} is {wanted}"
    path = shell["nvcc"]
    if path is None:
        if required:
            yield not_held(text, expected=wanted, observed="no nvcc on its search path", evidence=str(shell["program"]))
        return
    if shell["release"] is None:
        yield unknown(text, why=str(shell["nvcc_fault"]), expected=wanted)
    elif release_matches(wanted, str(shell["release"])):
        yield held(text, observed=str(shell["release"]), evidence=f"{path} in a {name}")
    else:
        yield not_held(text, expected=wanted, observed=str(shell["release"]), evidence=f"{path} in a {name}")


KIND = CudaLink
