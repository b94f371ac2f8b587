"""The kind `kernel_launch`: a small kernel runs on each GPU and its result is right."""

from collections import Counter
from collections.abc import Mapping
from typing import ClassVar, Self

from stackplan.conditions._answers import mapping, rows, unanswered
from stackplan.conditions._environment import Environment
from stackplan.model.arguments import Arguments
from stackplan.model.condition import Recheck
from stackplan.model.facts import Facts, Plain, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ConditionKind
from stackplan.model.verdict import Verdict, conjunction, held, not_held, unknown


@dataclass(frozen=True, slots=True)
class KernelLaunch(ConditionKind):
    """A product, a sum and a product of matrices run on each GPU by the environment's torch, and come out right.

    Proves that torch has code that runs on the chip, which no version and no list of architectures does. All GPUs that
    nvidia-smi names have to be seen, whatever CUDA_VISIBLE_DEVICES says; where MIG is on, each instance. A GPU on
    which it hangs or that ends the interpreter is named, and the others are tried in a fresh one. A GPU without free
    memory leaves it unknown. It says nothing of the kernels of other packages (flashinfer, sgl-kernel).
    """

    recheck: ClassVar[Recheck] = Recheck.FINAL

    environment: Environment
    gpus: tuple[int, ...] | None = None

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        return cls(Environment.read(arguments), _read_gpus(arguments))

    def describe(self) -> str:
        if self.gpus is None:
            return f"a kernel of {self.environment} runs on every GPU"
        which = ", ".join(str(it) for it in self.gpus)
        return f"a kernel of {self.environment} runs on GPU {which}"

    def queries(self) -> tuple[Query, ...]:
        return (self._query,)

    def evaluate(self, facts: Facts) -> Verdict:
        text = self.describe()
        told = mapping(facts[self._query])
        if told is None:
            return unanswered(text, facts[self._query])
        if (fault := self.environment.without_interpreter(told)) is not None:
            return not_held(text, expected="an interpreter", observed=fault)
        torch = told["torch"]
        if not isinstance(torch, dict):
            return not_held(text, expected="a torch that imports", observed=str(told["fault"]))
        evidence = _evidence(torch)
        gpus = rows(told["gpus"])
        if not gpus and self.gpus is None:
            observed = f"torch sees no GPU{_because(told['fault'])}"
            return not_held(text, expected=_counted(told["expected"]), observed=observed, evidence=evidence)
        parts = [self._of_gpu(gpu, evidence) for gpu in gpus]
        parts.extend(self._of_number(told, gpus, evidence))
        verdict = conjunction(text, tuple(parts))
        return held(text, observed=_counted(len(gpus)), evidence=evidence) if verdict.held else verdict

    def _of_gpu(self, gpu: Mapping[str, Plain], evidence: str) -> Verdict:
        name = f"GPU {gpu['index']}"
        if str(gpu["device"]) != str(gpu["index"]):
            name = f"{name} ({gpu['device']})"
        text = f"a kernel runs on {name}"
        if gpu["fault"] is None:
            return held(text)
        capability = gpu["compute_capability"]
        chip = f"compute capability {capability}: " if capability is not None else ""
        if gpu["memory"]:
            return unknown(text, why=f"{name} has too little free memory: {gpu['fault']}")
        return not_held(text, expected="the right result", observed=f"{chip}{gpu['fault']}", evidence=evidence)

    def _of_number(
        self, told: Mapping[str, Plain], gpus: tuple[Mapping[str, Plain], ...], evidence: str
    ) -> tuple[Verdict, ...]:
        """Return what is to be said of GPUs that torch does not see at all."""
        because = _because(told["fault"])
        if self.gpus is not None:
            there = {gpu["index"] for gpu in gpus}
            return tuple(
                not_held(
                    f"a kernel runs on GPU {index}",
                    expected="the right result",
                    observed=f"torch sees no GPU {index}{because}",
                    evidence=evidence,
                )
                for index in self.gpus
                if index not in there
            )
        expected, seen = told["expected"], len(gpus)
        if isinstance(expected, int) and seen < expected:
            text, observed = "torch sees every GPU", f"torch sees {_counted(seen)}{because}"
            return (not_held(text, expected=_counted(expected), observed=observed, evidence=evidence),)
        return ()

    @property
    def _query(self) -> Query:
        return self.environment.query("kernel_launch", gpus=self.gpus)


def _read_gpus(arguments: Arguments) -> tuple[int, ...] | None:
    value = arguments.values.get("gpus")
    if value is None or value == "all":
        return None
    texts = arguments.texts("gpus")
    if not texts or not all(text.isdigit() for text in texts):
        expected = "all, or indexes as nvidia-smi counts them, such as [0, 1]"
        raise arguments.invalid("gpus", "`gpus` names no GPUs", expected=expected)
    indexes = [int(text) for text in texts]
    if twice := sorted(it for it, times in Counter(indexes).items() if times > 1):
        summary = f"`gpus` names GPU {', '.join(map(str, twice))} more than once"
        raise arguments.invalid("gpus", summary, expected="each index once", remedy="leave the second one out")
    return tuple(sorted(indexes))


def _evidence(torch: Mapping[str, Plain]) -> str:
    archs = torch["archs"]
    assert isinstance(archs, list)
    code = f"code for {', '.join(str(it) for it in archs)}" if archs else "no code for any GPU"
    built = f"CUDA {torch['cuda']}" if torch["cuda"] is not None else "no CUDA"
    return f"torch {torch['version']} (built for {built}) has {code}"


def _because(fault: Plain) -> str:
    return "" if fault is None else f": {fault}"


def _counted(count: Plain) -> str:
    if not isinstance(count, int):
        return "a GPU"
    return f"{count} GPU{'' if count == 1 else 's'}"


KIND = KernelLaunch
