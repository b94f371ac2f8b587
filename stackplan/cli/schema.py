"""`stackplan schema`: the JSON schemas, each as one self-contained document."""

import json

import click

from stackplan.cli.output import result
from stackplan.language import schema


@click.command("schema")
@click.argument("name", required=False)
def command(name: str | None) -> int:
    """Print the JSON schema NAME (playbook, report, events, …), or the list of them."""
    if name is None:
        result("".join(f"{it}\n" for it in schema.names()))
    else:
        result(json.dumps(schema.bundled(name), indent=2, ensure_ascii=False) + "\n")
    return 0
