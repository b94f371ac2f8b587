"""`stackplan lint`: playbooks read and checked against the schemas, all errors at once, no node needed."""

import sys
from pathlib import Path

import click

from stackplan.cli.diagnoses import some
from stackplan.cli.output import form_option, result, say, wants_colour
from stackplan.cli.places import find_playbook
from stackplan.engine.bind import faults
from stackplan.language import inventory as inventories
from stackplan.language import playbook as playbooks
from stackplan.language import source
from stackplan.language.alone import render_alone
from stackplan.language.pattern import select_of
from stackplan.language.template import as_written
from stackplan.model.diagnosis import Diagnosis, Invalid, Severity
from stackplan.model.node import Inventory
from stackplan.reports import json_document
from stackplan.reports.wording import counted


@click.command("lint")
@click.argument("names", metavar="PLAYBOOK...", nargs=-1, required=True)
@click.option("-i", "--inventory", type=click.Path(path_type=Path), help="Check this inventory, too.")
@form_option("text", "json")
def command(names: tuple[str, ...], inventory: Path | None, form: str) -> int:
    """Check playbooks without any node: their form, their kinds and arguments, what they refer to.

    Exit status 2 when something is wrong; all of it is told, with its place.
    """
    known, wrong = (None, ()) if inventory is None else _read_inventory(inventory)
    found = [*(it for name in names for it in _wrong_in_playbook(name, inventory, known)), *wrong]
    found = [source.without_passwords(it) for it in found]
    if form == "json":
        result(json_document.render_diagnoses(found))
    else:
        result(some(found, colour=wants_colour(sys.stdout)))
        files = counted(len(names), "playbook") + ("" if inventory is None else " and the inventory")
        say(f"{counted(len(found), 'problem')} in {files}." if found else f"{files}: no problem found.")
    return 2 if any(it.severity is Severity.ERROR for it in found) else 0


def _wrong_in_playbook(name: str, path: Path | None, inventory: Inventory | None) -> tuple[Diagnosis, ...]:
    try:
        playbook = playbooks.read(find_playbook(name, path, Path.cwd()))
    except Invalid as invalid:
        return invalid.diagnoses
    rendering = render_alone(playbook)
    wrong = [*rendering.wrong, *faults(rendering.playbook, as_written)]
    if inventory is not None:
        try:
            select_of(playbook, inventory)
        except Invalid as invalid:
            wrong += invalid.diagnoses
    return source.invalid(wrong, playbook.sources).diagnoses


def _read_inventory(path: Path) -> tuple[Inventory | None, tuple[Diagnosis, ...]]:
    try:
        return inventories.read(path), ()
    except Invalid as invalid:
        return None, invalid.diagnoses
