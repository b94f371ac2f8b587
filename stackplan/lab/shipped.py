"""Where the playbooks that come with stackplan are."""

from pathlib import Path

from stackplan.lab.failure import LabFailed

_PACKAGE = Path(__file__).resolve().parent.parent


def shipped_playbook(name: str) -> Path:
    """Return the path of a shipped playbook such as `examples/torch-pulled-back.yaml`, relative where it can be."""
    for folder in (_PACKAGE / "playbooks", _PACKAGE.parent / "playbooks"):
        path = folder / name
        if path.is_file():
            here = Path.cwd()
            return path.relative_to(here) if path.is_relative_to(here) else path
    raise LabFailed(f"the playbook {name} is missing from this installation", remedy="install stackplan again")
