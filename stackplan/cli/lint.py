"""`stackplan lint`: playbooks read and checked against the schemas and the rules, all at once, no node needed."""

import sys
from pathlib import Path

import click

from stackplan import __version__
from stackplan.cli.beside import beside
from stackplan.cli.diagnoses import some
from stackplan.cli.output import form_option, result, say, wants_colour
from stackplan.cli.places import find_playbook
from stackplan.language import linting, source
from stackplan.language import playbook as playbooks
from stackplan.language.alone import render_alone
from stackplan.language.project import Unversioned
from stackplan.language.template import as_written
from stackplan.language.uncollected import uncollected
from stackplan.model.diagnosis import Diagnosis, Invalid, Severity, besides
from stackplan.model.node import Inventory
from stackplan.model.playbook import Playbook
from stackplan.model.review import Review
from stackplan.reports.count import counted


@click.command("lint")
@click.argument("names", metavar="PLAYBOOK...", nargs=-1, required=True)
@click.option("-i", "--inventory", type=click.Path(path_type=Path), help="Check this inventory, too.")
@click.option("--strict", is_flag=True, help="Exit status 2 for warnings as well.")
@form_option("text", "json", "sarif", "github")
def command(names: tuple[str, ...], inventory: Path | None, form: str, *, strict: bool) -> int:
    """Check playbooks without any node: their form, their kinds and arguments, and the rules SP1xx.

    Exit status 2 when there is an error; warnings alone do not fail. A comment in a step answers a finding:
    `# stackplan: ignore[SP101] the reason`.
    """
    known, wrong = (None, ()) if inventory is None else _read_inventory(inventory)
    with uncollected():
        reviews = [_review(name, inventory, known) for name in names]
    found = [source.without_passwords(it) for review in reviews for it in review.findings]
    found += [source.without_passwords(it) for it in wrong]
    whole = Review(tuple(found), tuple(it for review in reviews for it in review.ignored))
    if form == "text":
        result(some(found, colour=wants_colour(sys.stdout)))
        say(_summary(whole, len(names), with_inventory=inventory is not None))
    else:
        result(_rendered(whole, form))
    failing = (Severity.ERROR, Severity.WARNING) if strict else (Severity.ERROR,)
    return 2 if any(it.severity in failing for it in found) else 0


def _rendered(review: Review, form: str) -> str:
    from stackplan.reports import github, json_document, sarif  # noqa: PLC0415 - spared by whoever reads text

    if form == "json":
        return json_document.render_review(review)
    if form == "sarif":
        return sarif.render(review, linting.rules(), __version__)
    return github.render(review.findings)


def _summary(review: Review, number: int, *, with_inventory: bool) -> str:
    files = counted(number, "playbook") + (" and the inventory" if with_inventory else "")
    ignored = f" Comments answer {counted(len(review.ignored), 'more finding')}." if review.ignored else ""
    if not review.findings:
        return f"{files}: no problem found.{ignored}"
    warnings = sum(it.severity is Severity.WARNING for it in review.findings)
    what = f", {counted(warnings, 'warning')} among them" if 0 < warnings < len(review.findings) else ""
    what = ", no error among them" if warnings == len(review.findings) else what
    return f"{counted(len(review.findings), 'problem')} in {files}{what}.{ignored}"


def _review(name: str, path: Path | None, inventory: Inventory | None) -> Review:
    try:
        playbook = playbooks.read(find_playbook(name, path, Path.cwd()), files=Unversioned())
    except Invalid as invalid:
        return Review(invalid.diagnoses)
    rendering = render_alone(playbook)
    # Neither needs what the other finds; whoever is done first takes more of what is left.
    examination = linting.Examination(playbook, rendering.playbook)
    (faulty, mine), (whole, others) = beside(
        lambda left: (_faults(rendering.playbook), {it: examination.of_part(it) for it in left}),
        lambda left: (examination.of_whole(), {it: examination.of_part(it) for it in left}),
        examination.parts,
    )
    reviewed = examination.review(whole, mine | others)
    wrong = [*rendering.wrong, *besides(rendering.wrong, faulty)]
    if inventory is not None:
        from stackplan.language.pattern import select_of  # noqa: PLC0415 - spared by whoever checks no inventory

        try:
            select_of(playbook, inventory)
        except Invalid as invalid:
            wrong += invalid.diagnoses
    return Review((*source.invalid(wrong, playbook.sources).diagnoses, *reviewed.findings), reviewed.ignored)


def _faults(rendered: Playbook) -> tuple[Diagnosis, ...]:
    from stackplan.engine.bind import faults  # noqa: PLC0415 - only here: the rules know no kinds

    return faults(rendered, as_written)


def _read_inventory(path: Path) -> tuple[Inventory | None, tuple[Diagnosis, ...]]:
    from stackplan.language import inventory as inventories  # noqa: PLC0415 - spared by whoever checks none

    try:
        return inventories.read(path), ()
    except Invalid as invalid:
        return None, invalid.diagnoses
