"""Version specifiers as playbooks write them: PEP 440, a bare version counts as `==`, pre-releases admitted."""

from stackplan.model.arguments import Arguments
from stackplan.model.frozen import dataclass
from stackplan.model.pep440 import InvalidSpecifier, InvalidVersion, SpecifierSet, Version
from stackplan.model.verdict import Verdict, held, not_held, unknown


@dataclass(frozen=True, slots=True)
class Specifier:
    """`text` as written. A specifier without a label admits every label; `==2.10.0+cu130` asks for that one."""

    text: str
    accepted: SpecifierSet

    def admits(self, version: str) -> bool | None:
        """Return whether it admits `version`; None when that is no version by PEP 440."""
        try:
            return self.accepted.contains(Version(version), prereleases=True)
        except InvalidVersion:
            return None


def specifier(text: str) -> Specifier:
    """Return the specifier that `text` states. Raise ValueError when it states none."""
    bare = text.strip()
    try:
        return Specifier(bare, SpecifierSet(f"=={bare}" if bare[:1].isdigit() else bare))
    except InvalidSpecifier as error:
        raise ValueError(str(error)) from error


def read_specifier(arguments: Arguments, key: str) -> Specifier | None:
    """Return the specifier at `key`, or None. Raise Invalid when it is none."""
    if key not in arguments:
        return None
    return arguments.converted(key, specifier, "a version specifier such as >=2.11.0.dev0")


def version_verdict(text: str, wanted: Specifier, version: str, evidence: str | None) -> Verdict:
    """Return the verdict on `version` against a specifier; unknown when it is no version by PEP 440."""
    admitted = wanted.admits(version)
    if admitted is None:
        return unknown(text, why=f"{version} is no version by PEP 440", expected=wanted.text)
    if admitted:
        return held(text, observed=version, evidence=evidence)
    return not_held(text, expected=wanted.text, observed=version, evidence=evidence)
