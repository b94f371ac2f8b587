"""What can be said of a `python_packages` action that did not lead where it should; only from evidence, never a guess.

The codes never change their meaning.
"""

from collections.abc import Callable

from stackplan.actions import _build_rules as build
from stackplan.actions import _companion_rules as companion
from stackplan.actions import _installer_error_rules as error
from stackplan.actions import _loader_rules as loader
from stackplan.actions import _network_rules as network
from stackplan.actions import _no_effect_rules as no_effect
from stackplan.actions import _platform_rules as platform
from stackplan.actions import _wrong_build_rules as wrong_build
from stackplan.actions._failure import Failure, read_failure
from stackplan.actions._installer_facts import InstallerFacts
from stackplan.actions._memory_rules import out_of_memory
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
    companion.left_behind,
    companion.library_left_beside,
    companion.files_of_two,
    loader.library_of_another_cuda,
    loader.compiled_for_another_torch,
    loader.no_code_for_the_chip,
    loader.fabric_not_up,
    loader.driver_does_not_fit,
    loader.stale_kernels,
    wrong_build.overshot,
    error.not_as_announced,
    error.login_refused,
    platform.no_wheel,
    build.no_compiler_of_cuda,
    build.two_cudas_in_a_build,
    build.compiler_does_not_fit,
    build.built_without_torch,
    error.no_solution,
    network.distrusted,
    network.proxy_in_the_way,
    network.gave_up_waiting,
    error.not_reachable,
    no_effect.inherited_settings,
)

_OF_STATE: tuple[Callable[[Failure], Diagnosis | None], ...] = (
    no_effect.half_installed,
    no_effect.broken_metadata,
    companion.files_of_two,
    loader.library_of_another_cuda,
    loader.compiled_for_another_torch,
    loader.no_code_for_the_chip,
    loader.fabric_not_up,
    loader.driver_does_not_fit,
)
"""Rules that look at how the environment is, and not at what an installer said or did."""

_NARROWER = {
    "SP202": frozenset({"SP203", "SP204"}),
    "SP207": frozenset({"SP214", "SP215", "SP216"}),
    "SP208": frozenset({"SP213"}),
    "SP211": frozenset({"SP251", "SP252", "SP253", "SP254", "SP255", "SP256", "SP257"}),
}
"""What is not said beside a code that says it more closely."""


def explain_failure(wishes: Wishes, node: InstallerFacts | None, evidence: Evidence) -> tuple[Diagnosis, ...]:
    """Return what the rules find, most telling first."""
    if killed := out_of_memory(evidence):
        return killed
    failure = read_failure(wishes, node, evidence)
    found = tuple(it for rule in RULES if (it := rule(failure)) is not None)
    codes = {it.code for it in found}
    return tuple(it for it in found if not codes & _NARROWER.get(str(it.code), frozenset()))


def explain_state(wishes: Wishes, evidence: Evidence) -> tuple[Diagnosis, ...]:
    """Return what can be said of an environment in which conditions do not hold, where nothing was run."""
    failure = read_failure(wishes, None, evidence)
    return tuple(it for rule in _OF_STATE if (it := rule(failure)) is not None)
