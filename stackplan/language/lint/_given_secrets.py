"""Which secrets a word of a script gives, in whatever way it is written: `"${TOKEN:?}"`, `"$(printf %s "$TOKEN")"`.

A word gives a secret by a template, by a variable that holds one (also as `${TOKEN%x}` or `${!name}`), by an array
that does, or by the output of a program that only prints it. `<(…)` gives the path of a pipe, and no secret.
"""

from collections.abc import Iterator

from stackplan.language.expression import names
from stackplan.language.lint._tree import Block, Command, own_pipelines
from stackplan.language.yielded import BadTemplate
from stackplan.model.cached import cached_property
from stackplan.model.frozen import dataclass
from stackplan.model.regular import regular

_ASSIGNED = regular(r"(?P<name>[A-Za-z_]\w*)(?:\[[^]]*\])?\+?=")
_CHANGED = regular(r"\$\{(?P<name>[A-Za-z_]\w*)(?::?[-?=]|[%#/^,@])")
"""What still gives the value of the variable, or most of it; `${TOKEN:+x}` and `${#TOKEN}` do not."""
_PLAIN = regular(r"\$(?:(?P<name>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)\})")
_MEMBERS = regular(r"\$\{(?P<name>[A-Za-z_]\w*)\[[^]]+\]\}")
_NAMED_BY = regular(r"\$\{!(?P<name>[A-Za-z_]\w*)\}")
_DECLARING = frozenset({"export", "local", "declare", "readonly", "typeset"})
_PRINTING = frozenset({"echo", "printf"})
_KEEPING = frozenset({"cat", "tr", "head", "tail", "cut", "sed", "base64", "jq", "xargs", "rev"})
"""Programs that leave a secret in what they pass on."""


@dataclass
class GivenSecrets:
    """What the words of a script give; `variables` hold a secret from the start, `known` are those of the playbook."""

    text: str
    commands: tuple[Command, ...]
    variables: frozenset[str]
    known: frozenset[str]

    def of_word(self, word: str, command: Command) -> frozenset[str]:
        """Return the names of the secrets that a word of a command gives."""
        found = self._written(word)
        if not found and "$" in word:
            found = self._changed(word, self._holding)
            found |= self._copied(word, command)
        if not found and command.inner and ("$(" in word or "`" in word):
            found = frozenset(it for block in self._put_in(command) for it in self._printed(block))
        return found

    def of_array(self, command: Command) -> frozenset[str]:
        """Return the names of the secrets that the arrays give which a command is given the members of."""
        if not self._arrays:
            return frozenset()
        end = self.text.find("\n", command.start)
        line = self.text[command.start : end if end >= 0 else len(self.text)]
        return frozenset(it for match in _MEMBERS.finditer(line) for it in self._arrays.get(match["name"], ()))

    def _written(self, word: str) -> frozenset[str]:
        if "{{" not in word:
            return frozenset()
        try:
            return names(word) & (self.known | self.variables)
        except BadTemplate:
            return frozenset()

    def _changed(self, word: str, holding: dict[str, frozenset[str]]) -> frozenset[str]:
        if "${" not in word:
            return frozenset()
        found = {it for match in _CHANGED.finditer(word) for it in holding.get(match["name"], ())}
        for match in _NAMED_BY.finditer(word):
            found.update(it for name in self._texts.get(match["name"], ()) for it in holding.get(name, ()))
        return frozenset(found)

    def _copied(self, word: str, command: Command) -> frozenset[str]:
        """Return the secrets of the variables that are copies of one, less what stands between single quotes."""
        found: set[str] = set()
        for match in _PLAIN.finditer(word):
            copied = self._copies.get(match["name"] or match["braced"])
            if copied and self.text.find(f"'{match[0]}'", command.start, command.start + len(command.text) + 9) < 0:
                found.update(copied)
        return frozenset(found)

    @cached_property
    def _holding(self) -> dict[str, frozenset[str]]:
        return {**{it: frozenset({it}) for it in self.variables}, **self._copies}

    @cached_property
    def _copies(self) -> dict[str, frozenset[str]]:
        return self._filled[0]

    @cached_property
    def _arrays(self) -> dict[str, frozenset[str]]:
        return self._filled[1]

    @cached_property
    def _texts(self) -> dict[str, set[str]]:
        """What variables are set to, where it may be the name of another."""
        found: dict[str, set[str]] = {}
        for _, name, value in self._assignments():
            if value.isidentifier():
                found.setdefault(name, set()).add(value)
        return found

    @cached_property
    def _filled(self) -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
        """The variables and the arrays that are given a secret by a command of the script."""
        copies: dict[str, frozenset[str]] = {}
        arrays: dict[str, frozenset[str]] = {}
        holding = {variable: frozenset({variable}) for variable in self.variables}
        for it, name, value in self._assignments():
            found = self._written(value) | self._changed(value, holding)
            array = value.startswith("(")
            if "$" in value and not value.startswith(("$(", "`")):
                plain = (match["name"] or match["braced"] for match in _PLAIN.finditer(value))
                found |= frozenset(secret for variable in plain for secret in holding.get(variable, ()))
            elif not found and it.inner:
                found = frozenset(secret for block in self._put_in(it) for secret in self._printed(block))
            if found and array:
                arrays[name] = found
            elif found:
                copies[name] = holding[name] = found
        return copies, arrays

    def _assignments(self) -> Iterator[tuple[Command, str, str]]:
        for it in self.commands:
            for word in (*it.assignments, *(it.words[1:] if it.program in _DECLARING else ())):
                if (match := _ASSIGNED.match(word)) and not (match["name"] in self.variables and "{{" in word):
                    yield it, match["name"], word[match.end() :]

    def _put_in(self, command: Command) -> Iterator[Block]:
        """Yield the substitutions of a command whose output becomes words, which that of `<(…)` does not."""
        for block in command.inner:
            start = next((part.start for it in own_pipelines(block) for part in it.parts), -1)
            if start > 0 and self.text[:start].rstrip(" \t\n\"'").endswith(("$(", "`")):
                yield block

    def _printed(self, block: Block) -> Iterator[str]:
        """Yield the secrets that the commands of a substitution print."""
        for pipeline in own_pipelines(block):
            first, rest = pipeline.parts[0], pipeline.parts[1:]
            if not isinstance(first, Command) or not all(
                isinstance(it, Command) and it.program in _KEEPING for it in rest
            ):
                continue
            if first.program in _PRINTING:
                for word in first.words[1:]:
                    yield from self._written(word)
                    yield from self._changed(word, {it: frozenset({it}) for it in self.variables})
            elif first.program == "printenv":
                yield from self.variables.intersection(first.plain)
            elif first.program in _KEEPING and first.stdin is not None:
                yield from self._written(first.stdin[0])
