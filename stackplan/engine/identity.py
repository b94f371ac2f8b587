"""Which playbook a report is about. Pure; imports model only."""

from stackplan.model.playbook import Playbook
from stackplan.model.report import PlaybookIdentity


def identity(playbook: Playbook) -> PlaybookIdentity:
    """Return what a report says of the playbook that it is about."""
    return PlaybookIdentity(name=playbook.name, path=playbook.path, sha256=playbook.sha256, revision=playbook.revision)
