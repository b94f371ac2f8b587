"""What is stated of every GPU of a node, and the verdict on it; offenders are named by their index."""

from collections.abc import Callable, Mapping

from stackplan.conditions._answers import listed, matching
from stackplan.model.facts import Plain
from stackplan.model.frozen import dataclass
from stackplan.model.matcher import Matcher
from stackplan.model.quantity import size_text
from stackplan.model.verdict import Verdict, held, not_held, unknown

Row = Mapping[str, Plain]


@dataclass(frozen=True, slots=True)
class Statement:
    """`accepts` judges the value that a GPU has under `key`; `what` is the value's name for people."""

    key: str
    what: str
    text: str
    expected: str
    accepts: Callable[[Plain], bool]
    shown: Callable[[Plain], str] = str

    def verdict(self, gpus: tuple[Row, ...]) -> Verdict:
        """Return the verdict on all GPUs together; a value that is not reported leaves it unknown."""
        if not gpus:
            return not_held(self.text, expected=self.expected, observed="no GPU")
        if any(self.key not in gpu for gpu in gpus):
            return unknown(self.text, why=f"the driver's nvidia-smi knows no {self.what}", expected=self.expected)
        values = {str(gpu["index"]): gpu[self.key] for gpu in gpus}
        shown = {index: self.shown(value) for index, value in values.items()}
        wrong = [index for index, value in values.items() if value is not None and not self.accepts(value)]
        silent = [index for index, value in values.items() if value is None]
        if wrong:
            if len(wrong) == len(gpus) and len(set(shown.values())) == 1:
                observed = shown[wrong[0]]
                return not_held(self.text, expected=self.expected, observed=observed, evidence="on every GPU")
            observed = listed([f"{shown[index]} on GPU {index}" for index in wrong], 8)
            return not_held(self.text, expected=self.expected, observed=observed)
        if silent:
            why = f"GPU {', '.join(silent)} reports no {self.what}"
            return unknown(self.text, why=why, expected=self.expected)
        return held(self.text, observed=", ".join(dict.fromkeys(shown.values())))


def matched(key: str, what: str, matcher: Matcher | None) -> Statement | None:
    if matcher is None:
        return None
    return Statement(key, what, matching(what, matcher), matcher.text, lambda value: matcher.accepts(str(value)))


def roomy(size_bytes: int | None) -> Statement | None:
    if size_bytes is None:
        return None
    size = size_text(size_bytes)
    return Statement(
        "memory_bytes",
        "memory size",
        f"{size} memory on each GPU",
        f"at least {size}",
        lambda value: isinstance(value, int) and value >= size_bytes,
        lambda value: size_text(value) if isinstance(value, int) else str(value),
    )


def sound(errors: int | None) -> Statement | None:
    """Return the statement on uncorrected errors of the memory since the driver was loaded."""
    if errors is None:
        return None
    expected = f"at most {errors}" if errors else "0"
    text = f"{expected if errors else 'no'} uncorrected ECC errors on each GPU"
    what = "count of ECC errors (is ECC off?)"
    return Statement("ecc_errors", what, text, expected, lambda value: isinstance(value, int) and value <= errors)


def switched(key: str, what: str, wanted: str | None) -> Statement | None:
    return None if wanted is None else Statement(key, what, f"{what} {wanted}", wanted, lambda value: value == wanted)
