"""The kind `no_stale_caches`: no compiled kernel of a user is older than what it was compiled with."""

from typing import Self

from stackplan.conditions._answers import listed, mapping, unanswered
from stackplan.conditions._environment import Environment
from stackplan.model.arguments import Arguments
from stackplan.model.facts import Facts, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kernel_caches import KernelCache, amount, kernel_caches
from stackplan.model.kind import ConditionKind
from stackplan.model.verdict import Verdict, conjunction, held, not_held, unknown

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class NoStaleCaches(ConditionKind):
    """No kernel that triton, torch (extensions and inductor), flashinfer, vllm, DeepGEMM or tilelang compiled for a
    user and kept is older than the packages it was made by, or needs the libraries of another CUDA major release.

    Rests on the time at which a file was written, compared with that at which the package was installed into the
    environment, and on what the ELF headers of cached libraries need. The caches are looked for where the user's
    environment variables and the tools' defaults put them; what a service's unit sets is not seen, nor a kernel that
    was compiled with an older package after a newer one was installed elsewhere. Of several environments of one user
    each finds the others' kernels stale. A cache of more than 300,000 files is looked at in part and said to be.
    Links of the user's own, or of root's, lead to a cache; inside one no link is followed, and one of another user's
    leaves it unknown. It is unknown, too, where an entry of old kernels holds something that its tool does not write,
    or a folder that cannot be looked into may hold kernels, unless others are stale.
    """

    environment: Environment
    user: str | None = None

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        return cls(Environment.read(arguments), arguments.optional_text("user"))

    def describe(self) -> str:
        whose = f" of {self.user}" if self.user is not None else ""
        return f"no stale kernel caches{whose} for {self.environment}"

    def queries(self) -> tuple[Query, ...]:
        return (self._query,)

    def evaluate(self, facts: Facts) -> Verdict:
        text = self.describe()
        told = mapping(facts[self._query])
        if told is None:
            return unanswered(text, facts[self._query])
        if (absence := self.environment.absence(told)) is not None:
            return not_held(text, expected=self.environment.expected, observed=absence)
        complete = told["complete"] is True
        caches = kernel_caches(told)
        parts = [_of_cache(cache, text, complete=complete) for cache in caches]
        parts = [part for part in parts if not part.held]
        if not parts and not complete:
            parts.append(unknown(text, why="there are more files than are looked at; those that were are not stale"))
        if parts:
            return conjunction(text, tuple(parts))
        entries = sum(cache.entries for cache in caches)
        size = sum(cache.size for cache in caches)
        observed = amount(entries, size, complete=True) if entries else "no compiled kernels"
        return held(text, observed=observed, evidence=listed([cache.path for cache in caches]) or None)

    @property
    def _query(self) -> Query:
        asked = self.environment.query("kernel_caches")
        return Query(asked.kind, asked.arguments, self.user)


def _of_cache(cache: KernelCache, text: str, *, complete: bool) -> Verdict:
    if cache.fault is not None:
        return unknown(text, why=cache.fault)
    if not cache.stale_entries and (cache.mixed_entries or cache.blind_folders):
        whys = [_mixed(cache)] if cache.mixed_entries else []
        if cache.blind_folders:
            more = cache.blind_folders - len(cache.blind[:_SHOWN])
            rest = f"; and {more} more" if more > 0 else ""
            whys.append(f"cannot look into {'; '.join(cache.blind[:_SHOWN])}{rest}")
        return unknown(f"no stale kernels of {cache.tool}", why=listed(whys), expected="none")
    if not cache.stale_entries:
        return held(text)
    stale = amount(cache.stale_entries, cache.stale_size, complete=complete)
    return not_held(
        f"no stale kernels of {cache.tool}",
        expected="none",
        observed=f"{stale} in {cache.path}: {_reasons(cache)}",
        evidence=cache.stale[0].path if cache.stale else None,
    )


def _mixed(cache: KernelCache) -> str:
    more = f", and so on in {cache.mixed_entries} folders" if cache.mixed_entries > 1 else ""
    return f"old kernels lie beside {cache.strays[0]}, which is not {cache.tool}'s{more}"


def _reasons(cache: KernelCache) -> str:
    if len(cache.reasons) == 1:
        return next(iter(cache.reasons))
    return listed([f"{count} {why}" for why, count in sorted(cache.reasons.items(), key=lambda it: (-it[1], it[0]))])


KIND = NoStaleCaches
