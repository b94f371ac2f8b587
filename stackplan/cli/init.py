"""`stackplan init`: a repository to begin with. The files are those in `starter/` beside this one, and a playbook."""

import json
from collections.abc import Mapping
from pathlib import Path

import click

from stackplan.cli.output import result
from stackplan.model.diagnosis import Diagnosis, Invalid
from stackplan.model.regular import regular

PLAYBOOK = "cuda13-blackwell.yaml"
SCHEMAS = ("playbook", "inventory")
_STARTER = Path(__file__).with_name("starter")
_PLACES = {
    "inventory.yaml": "inventory.yaml",
    "gitignore": ".gitignore",
    "pre-commit-config.yaml": ".pre-commit-config.yaml",
    "workflow.yaml": ".github/workflows/stackplan.yaml",
    "README.md": "README.md",
}
"""Where each file of `starter/` goes."""

_TO_FILL_IN = """
## To fill in

`OWNER/stackplan` and `REVISION` stand in this file, in the workflow and in `.pre-commit-config.yaml` for where
stackplan comes from: the repository on GitHub in which you keep it (a fork or a copy), and a tag or commit of it. Until
they are replaced neither the workflow nor the hook can run; `stackplan init DIR --source my-team/stackplan@v1.2` writes
them at once.
"""

_SOURCE = regular(r"([A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+)@([A-Za-z0-9._/-]+)")
_UNKNOWN = ("OWNER/stackplan", "REVISION")


@click.command("init")
@click.argument("folder", metavar="[DIR]", type=click.Path(path_type=Path, file_okay=False), default=Path())
@click.option(
    "--source",
    metavar="OWNER/REPO@REVISION",
    help="Where on GitHub the workflow and the hook get stackplan from.",
)
def command(folder: Path, source: str | None) -> int:
    """Write a starter repository into DIR (here, if not given): inventory, playbook, CI workflow, pre-commit hook.

    Nothing is overwritten: where one of the files is there already, none is written.
    """
    files = starter(source)
    existing = [name for name in files if (folder / name).exists() or (folder / name).is_symlink()]
    if existing:
        summary = f"{folder} has {', '.join(existing)} already, and nothing was written"
        remedy = "name another folder (`stackplan init DIR`), or move these files away"
        raise Invalid([Diagnosis(summary=summary, expected="a folder without them", remedy=remedy)])
    for name, text in files.items():
        _write(folder / name, text)
    result("".join(f"{folder / name}\n" for name in files) + _next(folder, known=source is not None))
    return 0


def starter(source: str | None) -> Mapping[str, str]:
    """Return the text of each file by its place. Raise Invalid for a `source` that is not OWNER/REPO@REVISION."""
    from stackplan.lab.shipped import shipped_playbook  # noqa: PLC0415 - the lab is slow to import
    from stackplan.language import schema  # noqa: PLC0415 - jsonschema is slow to import

    repository, revision = _UNKNOWN if source is None else _read_source(source)
    files = {
        place: (_STARTER / name)
        .read_text(encoding="utf-8")
        .replace("OWNER/stackplan", repository)
        .replace("REVISION", revision)
        for name, place in _PLACES.items()
    }
    files[f"playbooks/{PLAYBOOK}"] = shipped_playbook(PLAYBOOK).read_text(encoding="utf-8")
    if source is None:
        files["README.md"] += _TO_FILL_IN
    for name in SCHEMAS:
        text = json.dumps(schema.bundled(name), indent=2, ensure_ascii=False)
        files[f"schemas/{name}.v1.json"] = f"{text}\n"
    return files


def _read_source(text: str) -> tuple[str, str]:
    match = _SOURCE.fullmatch(text)
    if match is None:
        expected = "OWNER/REPO@REVISION, such as my-team/stackplan@v1.2"
        raise Invalid([Diagnosis(summary="`--source` names no repository of GitHub", expected=expected, observed=text)])
    return match[1], match[2]


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        summary = f"{path} cannot be written: {error.strerror or error}"
        raise Invalid([Diagnosis(summary=summary, remedy="name a folder that you may write to")]) from error


def _next(folder: Path, *, known: bool) -> str:
    lines = ["", "Next: put your nodes into inventory.yaml, then"]
    if folder != Path():
        lines.append(f"  cd {folder}")
    lines += [f"  stackplan lint playbooks/{PLAYBOOK}", f"  stackplan plan {Path(PLAYBOOK).stem}"]
    if not known:
        lines.append(
            "The workflow and the hook get stackplan from GitHub. Where they say OWNER/stackplan and REVISION, write "
            "the repository in which you keep it, and a tag or commit of it."
        )
    return "\n".join(lines) + "\n"
