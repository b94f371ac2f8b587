"""Words that uv and pip have in common: packages, files of requirements, addresses."""

from stackplan.actions._installer_facts import InstallerFacts
from stackplan.actions._invocation import Word, words
from stackplan.actions._sources import Address
from stackplan.actions._wishes import Lines, Wishes
from stackplan.model.secret import Secret, Text, reveal

OTHERS_SETTINGS = ("UV_*", "PIP_*", "PYTHONPATH", "PYTHONHOME")
"""What a clean environment is without; proxies and certificates of the login stay."""


def wanted_words(wishes: Wishes, node: InstallerFacts) -> tuple[Word, ...]:
    """Return the packages; those whose address holds a password stand in a file that is nowhere on disk."""
    private = [it for it in wishes.wanted if isinstance(it.text, Secret)]
    public = words(*(node.expand(it.text) for it in wishes.wanted if isinstance(it.text, str)))
    if not private:
        return public
    text = Secret("".join(f"{reveal(it.text)}\n" for it in private))
    return (*public, *words("-r"), Word(" ".join(it.shown for it in private), file=text))


def file_words(option: str, lines: Lines | None, node: InstallerFacts) -> tuple[Word, ...]:
    """Return an option with a file of requirements: one on the node, or lines that the playbook holds."""
    if lines is None:
        return ()
    if lines.path is not None:
        return words(option, node.expand(lines.path))
    return (*words(option), Word(f"({lines.count} {'line' if lines.count == 1 else 'lines'})", file=lines.text))


def address_words(
    option: str, variable: str, addresses: tuple[Address, ...], environment: dict[str, Text], separator: str = " "
) -> tuple[Word, ...]:
    """Return an option for each address; when one is secret, all go through `variable`, because their order counts."""
    if not any(it.secret for it in addresses):
        return words(*(part for it in addresses for part in (option, str(it.text))))
    environment[variable] = Secret(separator.join(reveal(it.text) for it in addresses))
    return tuple(word for it in addresses for word in (Word(option), Word(it.shown)))


def each(option: str, names: tuple[str, ...]) -> tuple[Word, ...]:
    """Return the option once for every name."""
    return words(*(part for name in names for part in (option, name)))
