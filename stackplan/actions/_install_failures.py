"""What can be said of a `python_packages` action that did not lead where it should; only from evidence, never a guess.

The codes never change their meaning.
"""

from collections.abc import Callable

from stackplan.actions import _installer_error_rules as error
from stackplan.actions import _no_effect_rules as no_effect
from stackplan.actions import _wrong_build_rules as wrong_build
from stackplan.actions._failure import Failure, read_failure
from stackplan.actions._installer_facts import InstallerFacts
from stackplan.actions._wishes import Wishes
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.kind import Evidence

RULES: tuple[Callable[[Failure], Diagnosis | None], ...] = (
    error.no_space,
    error.not_permitted,
    no_effect.half_installed,
    no_effect.broken_metadata,
    error.no_record,
    no_effect.index_passed_over,
    no_effect.satisfied_already,
    no_effect.highest_already,
    wrong_build.brought_along,
    wrong_build.overshot,
    error.not_as_announced,
    error.login_refused,
    error.no_solution,
    error.not_reachable,
    no_effect.inherited_settings,
)


def explain_failure(wishes: Wishes, node: InstallerFacts | None, evidence: Evidence) -> tuple[Diagnosis, ...]:
    """Return what the rules find, most telling first."""
    failure = read_failure(wishes, node, evidence)
    return tuple(found for rule in RULES if (found := rule(failure)) is not None)
