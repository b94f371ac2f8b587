"""Rules for packages that have no wheel and could not be built on the node either."""

import re

from stackplan.actions._failure import Failure
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.regular import regular

_BUILT = regular(r"Failed to build `?(?P<name>[A-Za-z0-9][\w.-]*)|Failed building wheel for (?P<pip>\S+)")
_NO_NVCC = regular(
    r"[^\n]*(?:CUDA_HOME environment variable is not set|nvcc: (?:command )?not found|nvcc was not found"
    r"|No such file or directory: '[^'\n]*nvcc')[^\n]*"
)
_TWO_CUDAS = regular(
    r"The detected CUDA version \((?P<toolkit>[\d.]+)\) mismatches the version that was used to compile\s+PyTorch "
    r"\((?P<torch>[\d.]+)\)"
)
_COMPILER = regular(
    r"unsupported GNU version! gcc versions later than (?P<newest>\d+) are not supported"
    r"|[^\n]*(?:command '[^'\n]*(?:gcc|g\+\+|cc)' failed: No such file"
    r"|unable to execute '[^'\n]*(?:gcc|g\+\+|cc)')[^\n]*"
)
_NO_TORCH = regular(r"ModuleNotFoundError: No module named '(?P<module>torch|packaging|numpy|setuptools|wheel)'")


def no_compiler_of_cuda(failure: Failure) -> Diagnosis | None:
    """SP217: a build wants nvcc, and finds none in the step's environment."""
    match = _found(failure, _NO_NVCC)
    if match is None:
        return None
    what = _package(failure)
    summary = f"{what} has no wheel that fits and is built from source, and the build finds no nvcc."
    remedy = (
        f"{_wheel_of(failure)}, or install the toolkit in an earlier step and add "
        f"`env: {{CUDA_HOME: PREFIX}}` to this one ({failure.at})."
    )
    return failure.diagnosis("SP217", summary, remedy, key="packages", causes=(match[0].strip()[:300],))


def two_cudas_in_a_build(failure: Failure) -> Diagnosis | None:
    """SP218: the toolkit that a build found is of another CUDA than torch."""
    match = _found(failure, _TWO_CUDAS)
    if match is None:
        return None
    summary = f"{_package(failure)} was to be compiled by nvcc {match['toolkit']} for a torch of CUDA {match['torch']}."
    remedy = (
        f"Add `env: {{CUDA_HOME: /usr/local/cuda-{match['torch']}}}` to the step ({failure.at}), with that toolkit "
        "installed by an earlier one; `cuda_link` states what is found without it."
    )
    return failure.diagnosis("SP218", summary, remedy, causes=(" ".join(match[0].split()),))


def compiler_does_not_fit(failure: Failure) -> Diagnosis | None:
    """SP219: there is no C++ compiler, or one that is newer than the toolkit allows."""
    match = _found(failure, _COMPILER)
    if match is None:
        return None
    if match["newest"]:
        summary = f"The node's gcc is newer than its CUDA toolkit supports (at most {match['newest']})."
        remedy = (
            f"Install gcc-{match['newest']} and g++-{match['newest']} in an earlier step, and add "
            f"`env: {{CC: gcc-{match['newest']}, CXX: g++-{match['newest']}}}` to this one ({failure.at}); or use a "
            "newer toolkit."
        )
    else:
        summary = f"{_package(failure)} is built from source, and the node has no C++ compiler."
        remedy = f"{_wheel_of(failure)}, or install build-essential in an earlier step."
    return failure.diagnosis("SP219", summary, remedy, causes=(match[0].strip()[:300],))


def built_without_torch(failure: Failure) -> Diagnosis | None:
    """SP220: a build imports a package that its isolated environment does not have."""
    match = _found(failure, _NO_TORCH)
    if match is None or _BUILT.search(failure.output) is None:
        return None
    summary = (
        f"{_package(failure)} is built from source in an environment of its own, where its build misses "
        f"{match['module']}."
    )
    return failure.diagnosis("SP220", summary, f"{_wheel_of(failure)}.", key="packages", causes=(match[0],))


def _package(failure: Failure) -> str:
    match = _BUILT.search(failure.output)
    return (match["name"] or match["pip"]) if match is not None else "A package"


def _wheel_of(failure: Failure) -> str:
    """Return that a wheel is to be named; where the playbook names an index or label, one of that build."""
    where = failure.place("packages") if "packages" in failure.arguments else failure.at
    build = failure.wishes.index_url.label if failure.wishes.index_url is not None else None
    return f"Name a wheel built for the torch of this environment{f' ({build})' if build else ''} at {where}"


def _found(failure: Failure, pattern: re.Pattern[str]) -> re.Match[str] | None:
    return None if failure.exit_code in (0, None) else pattern.search(failure.output)
