"""How far down and up a version specifier reaches, as conditions and requirements write it."""

from stackplan.model.pep440 import InvalidSpecifier, InvalidVersion, SpecifierSet, Version

_FROM_BELOW = frozenset({"==", "===", "~=", ">=", ">"})
_FROM_ABOVE = frozenset({"==", "===", "~=", "<=", "<"})


def stated(text: str) -> SpecifierSet | None:
    """Return the specifier of a condition, in which a bare version counts as `==`; None of text that is none."""
    bare = text.strip()
    try:
        return SpecifierSet(f"=={bare}" if bare[:1].isdigit() else bare)
    except InvalidSpecifier:
        return None


def has_upper_bound(text: str) -> bool:
    """Return whether there is a version that is too high for a condition's specifier."""
    specifier = stated(text)
    return specifier is None or any(it.operator in _FROM_ABOVE for it in specifier)


def lowest(specifier: SpecifierSet) -> Version | None:
    """Return the lowest version that a specifier reaches down to, without its label; None where it has no end."""
    versions = [public(it.version.removesuffix(".*")) for it in specifier if it.operator in _FROM_BELOW]
    return max((it for it in versions if it is not None), default=None)


def public(text: str) -> Version | None:
    """Return a version without its label; None of text that is none."""
    try:
        version = Version(text)
    except InvalidVersion:
        return None
    return version if version.local is None else Version(version.public)
