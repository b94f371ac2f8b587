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
