"""Every answer about an environment tells the folder that it really is, whatever it was called."""

import os
import sys

import pytest

from stackplan.node.context import Context
from stackplan.node.queries import distributions, installer, records, torch


@pytest.fixture
def home(tmp_path):
    """Return a home with an environment `tv`, the link `current` to it, and a folder `d` beside it."""
    root = tmp_path.resolve()
    (root / "tv/lib/python3.12/site-packages").mkdir(parents=True)
    (root / "tv/bin").mkdir()
    (root / "tv/pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.12.1\n")
    (root / "tv/bin/python").symlink_to(os.path.realpath(sys.executable))
    (root / "current").symlink_to("tv")
    (root / "d").mkdir()
    return root


def ask(query, home, **arguments):
    context = Context(environment={"HOME": str(home), "PATH": "/usr/bin:/bin"})
    return query.answer(arguments, context)


@pytest.mark.parametrize("query", [distributions, installer, records, torch])
@pytest.mark.parametrize(
    ("venv", "through"), [("~/current", ["tv"]), ("~/./d/../tv", ["tv"]), ("~/tv", None), ("~/new", None)]
)
def test_the_links_on_the_way_and_the_end(query, home, venv, through):
    told = ask(query, home, venv=venv)
    assert told.get("through") == (None if through is None else [f"{home}/{name}" for name in through])


@pytest.mark.parametrize("query", [distributions, installer])
def test_a_link_to_what_is_not_there_yet(query, home):
    (home / "next").symlink_to("tw")
    assert ask(query, home, venv="~/next")["through"] == [f"{home}/tw"]


def test_an_interpreter_stands_in_its_folder_wherever_it_leads_itself(home):
    told = ask(distributions, home, python="~/current/bin/python")
    assert told["through"] == [f"{home}/current", f"{home}/tv/bin/python"]
    assert "through" not in ask(distributions, home, python="~/tv/bin/python")


def test_a_program_that_starts_the_interpreter_of_an_environment(home):
    program = home / "d/python"
    program.write_text(f'#!/bin/sh\nexec "{home}/tv/bin/python" "$@"\n')
    program.chmod(0o755)
    assert ask(distributions, home, python="~/d/python")["through"] == [f"{home}/tv"]
