"""Codes that the rules find in a playbook written on the spot."""

import pytest

from stackplan.language import linting
from stackplan.language.alone import render_alone


@pytest.fixture
def review(read):
    """Return what the rules find in the steps of a playbook."""

    def reviewed(steps, **parts):
        playbook = read(steps, **parts)
        return linting.review(playbook, render_alone(playbook).playbook)

    return reviewed


@pytest.fixture
def codes(review):
    """Return the codes of what the rules find, sorted."""
    return lambda steps, **parts: sorted({it.code for it in review(steps, **parts).findings})


@pytest.fixture
def codes_of_script(codes):
    """Return the codes of what the rules find in a `run` step with this script."""

    def found(script):
        lines = "".join(f"        {line}\n" for line in script.splitlines())
        return codes(
            f"  - id: one\n    run:\n      script: |\n{lines}    postconditions:\n      - file: {{path: /x}}\n"
        )

    return found


@pytest.fixture
def codes_of_packages(codes):
    """Return the codes of what the rules find in a `python_packages` step with these arguments and postconditions."""

    def found(arguments, *postconditions, head=""):
        stated = "".join(f"      - {it}\n" for it in postconditions or ("command: {run: /opt/check}",))
        return codes(
            f"  - id: one\n    python_packages: {{venv: ~/e, {arguments}}}\n    postconditions:\n{stated}", head=head
        )

    return found


class Spelled:
    """Finds out which of many spellings a rule speaks of, in one playbook that has a step for each."""

    def __init__(self, review):
        self._review = review

    def scripts(self, texts, code, *, head="", environment=None):
        """Return those of some scripts in which the rule finds something."""
        env = f"    env: {environment}\n" if environment else ""
        return self._found(texts, code, lambda it: f"{env}    run:\n      script: |\n{_block(it)}", head)

    def contents(self, texts, code):
        """Return those of some contents of files in which the rule finds something."""
        return self._found(texts, code, lambda it: f"    file:\n      path: /x\n      content: |\n{_block(it)}")

    def packages(self, names, code):
        """Return those of some Debian packages of which the rule speaks."""
        return self._found(names, code, lambda it: f"    apt_packages: {{install: ['{it}']}}\n")

    def conditions(self, conditions, code):
        """Return those of some postconditions of which the rule speaks."""
        return self._found(conditions, code, lambda _: "    checkpoint: {}\n", postcondition=lambda it: it)

    def _found(self, spellings, code, action, head="", postcondition=lambda _: "file: {path: /x}"):
        steps = "".join(
            f"  - id: s{at}\n{action(it)}    postconditions:\n      - {postcondition(it)}\n"
            for at, it in enumerate(spellings)
        )
        found = {it.step for it in self._review(steps, head=head).findings if it.code == code}
        return [it for at, it in enumerate(spellings) if f"s{at}" in found]


def _block(text):
    return "".join(f"        {line}\n" for line in text.splitlines())


@pytest.fixture
def spelled(review):
    return Spelled(review)
