"""Rules for packages that are installed as asked and do not load or run: what an unmet condition observed of them."""

import re

from stackplan.actions._already_stated import ahead_of, behind
from stackplan.actions._failure import Failure, label
from stackplan.actions._loader_remedies import Edit, brought_by, looked_for, pinned
from stackplan.actions._lying_libraries import folders_with, wheels_with, within
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.outcome import Reason
from stackplan.model.regular import regular

_MANAGER = "nvidia-fabricmanager"
_LOADED = (Reason.POSTCONDITION, Reason.REGRESSION, Reason.NO_OP)
# Of these libraries the number behind `.so` is that of the CUDA release.
_MISSING = regular(
    r"(?P<library>lib(?:cudart|nvrtc|cublas|cublasLt)\.so\.(?P<major>\d+))"
    r"(?=:? cannot open shared object|[^;]*?found nowhere|[^;()]* nowhere to be found)"
)
_NEEDING = regular(r"(?:^|; )(?P<name>[A-Za-z0-9][\w.-]*) (?P<version>\d\S*) needs [^;]*?nowhere")
# `cuda_coherent`: what an upgrade left behind, or a toolkit of the node, has the library.
_FOUND = regular(
    r"(?:^|; )(?P<name>[A-Za-z0-9][\w.-]*) (?P<version>\d\S*) needs (?P<libraries>"
    r"[^;(]*?lib(?:cudart|nvrtc|cublas|cublasLt)\.so\.(?P<major>\d+)[^;(]*) \(found in (?P<places>[^)]+)\)"
)
_SYMBOL = regular(r"(?P<file>[\w./-]+\.so)?:? ?undefined symbol: (?P<symbol>_ZN?K?\d*(?:3c10|2at|5torch)\w*)")
_NO_CODE = regular(r"no kernel image is available")
_CHIP = regular(r"compute capability (?P<chip>\d+\.\d+)")
_FABRIC = regular(r"[Ee]rror 802|system not yet initialized")
_DRIVER = regular(
    r"driver on your system is too old|CUDA driver version is insufficient|[Ee]rror 80[34]|forward compatibility was "
    r"attempted"
)


def library_of_another_cuda(failure: Failure) -> Diagnosis | None:
    """SP251: a package needs a CUDA library that it does not get, or gets for no other reason."""
    match = _seen(failure, _MISSING)
    if match is None:
        return _found_elsewhere(failure)
    library, major = match["library"], match["major"]
    needing = _seen(failure, _NEEDING)
    name = needing["name"] if needing is not None else _only_wanted(failure)
    what = f"{needing['name']} {needing['version']}" if needing is not None else name
    facts, venv = failure.facts, failure.wishes.venv
    folders = folders_with(facts, venv, library)
    where = [within(it, facts, venv) for it in folders] or [*wheels_with(facts, venv, library)]
    # Without a name the loader's own words tell the file alone.
    whose = what or "Something that is loaded here (the error does not name the package)"
    lies = f". The file lies in {', '.join(where)}, where the loader does not look for it."
    fault = lies if where else ", and nothing in the environment brings that file."
    summary = f"{whose} needs {library} of CUDA {major}{fault}"
    build = label(failure, name or "torch") or _cuda_wanted(failure)
    if build is not None and build.removeprefix("cu").startswith(major):
        edit = looked_for(failure, major, *folders[:1]) if where else brought_by(failure, library, major)
    else:
        edit = pinned(failure, name, build, major)
    return edit.of(failure, "SP251", summary, name)


def _found_elsewhere(failure: Failure) -> Diagnosis | None:
    """SP251, where the library of another CUDA is loaded: from a wheel that an upgrade left behind, or a toolkit."""
    match = _seen(failure, _FOUND)
    wanted = _cuda_wanted(failure)
    if match is None or wanted is None or wanted.removeprefix("cu").startswith(match["major"]):
        return None
    summary = (
        f"{match['name']} {match['version']} needs {match['libraries']} of CUDA {match['major']}, which an import "
        f"loads from {match['places']} beside the libraries of the CUDA that is wanted."
    )
    return pinned(failure, match["name"], wanted, match["major"]).of(failure, "SP251", summary, match["name"])


def compiled_for_another_torch(failure: Failure) -> Diagnosis | None:
    """SP252: an extension was compiled against a torch that is no longer there."""
    match = _seen(failure, _SYMBOL)
    if match is None:
        return None
    torch = failure.installed("torch")
    now = f", not for {torch.name} {torch.version}" if torch is not None else " than the one that is installed"
    what = match["file"] or "An extension"
    summary = f"{what} misses {match['symbol']} of torch: it was compiled for another torch{now}."
    remedy = (
        "Install the package that owns it anew behind this step, from a wheel for the torch that is there now "
        "(`reinstall` brings a wheel from the installer's cache that was built for the old one)."
    )
    return Edit(remedy).of(failure, "SP252", summary)


def no_code_for_the_chip(failure: Failure) -> Diagnosis | None:
    """SP253: what is installed has no machine code for a GPU of the node."""
    match = _seen(failure, _NO_CODE)
    if match is None:
        return None
    chip = _seen(failure, _CHIP)
    gpu = f"a GPU of compute capability {chip['chip']}" if chip is not None else "the node's GPUs"
    where = failure.place("packages") if "packages" in failure.arguments else failure.at
    summary = f"What is installed has no code for {gpu}."
    code = f"sm_{chip['chip'].replace('.', '')}" if chip is not None else "this chip"
    stated = any("arch" in it.arguments for it in ahead_of(failure.playbook, failure.step, "torch"))
    beforehand = "" if stated else "; `torch: {arch: …}` states it beforehand"
    edit = Edit(f"Choose a build with code for {code} at {where}{beforehand}.", "packages")
    return edit.of(failure, "SP253", summary, causes=(match[0],))


def fabric_not_up(failure: Failure) -> Diagnosis | None:
    """SP254: on a node with NVSwitches CUDA waits for the fabric."""
    match = _seen(failure, _FABRIC)
    if match is None:
        return None
    summary = "CUDA cannot begin on this node: its NVSwitch fabric is not up (error 802)."
    coherent = any(ahead_of(failure.playbook, failure.step, "driver_coherent"))
    services = ahead_of(failure.playbook, failure.step, "service")
    active = any(it.arguments.values.get("name") == _MANAGER and it.arguments.values.get("active") for it in services)
    missing = [
        *([] if coherent else ["`driver_coherent: {}`"]),
        *([] if active else [f"`service: {{name: {_MANAGER}, active: true}}`"]),
    ]
    if missing:
        remedy = f"State {' and '.join(missing)} as {'preconditions' if len(missing) > 1 else 'a precondition'}."
    else:
        remedy = f"Look at `systemctl status {_MANAGER}` on the node: the playbook states already that it runs."
    return failure.diagnosis("SP254", summary, remedy, causes=(match[0],))


def driver_does_not_fit(failure: Failure) -> Diagnosis | None:
    """SP255: the driver is too old for what was installed, or a compat library stands in its place."""
    match = _seen(failure, _DRIVER)
    if match is None:
        return None
    build = label(failure, "torch")
    release = f"{build[2:-1]}.{build[-1]}" if build is not None and build.startswith("cu") else "X.Y"
    summary = "The node's driver does not run what was installed."
    stated = next(ahead_of(failure.playbook, failure.step, "driver_coherent"), None)
    if stated is None:
        early = f'State `driver_coherent: {{cuda: "{release}"}}` as a precondition'
    else:
        early = f'Add `cuda: "{release}"` to `driver_coherent` at {stated.at.line}:{stated.at.column}'
    mend = "pgrade the driver, or pin a build of an older CUDA."
    known = stated is not None and "cuda" in stated.arguments
    remedy = f"U{mend}" if known else f"{early}, which stops before anything is changed; u{mend}"
    return Edit(remedy).of(failure, "SP255", summary, causes=(match[0],))


def stale_kernels(failure: Failure) -> Diagnosis | None:
    """SP257: kernels that were compiled before the change lie in caches, and would be loaded."""
    found = next((it for it in failure.unmet if it.text.startswith("no stale kernels") and it.observed), None)
    if failure.reason not in _LOADED or found is None or not failure.changes:
        return None
    venv = failure.wishes.venv
    summary = f"Kernels that were compiled before this change are in caches still: {found.observed}."
    clearing = behind(failure.playbook, failure.step, "clear_caches")
    later = next((step for step, action in clearing if action.arguments.values.get("venv") in (None, venv)), None)
    if later is None:
        remedy = (
            f"Add a step with `clear_caches: {{venv: {venv}}}` behind this one, and state `no_stale_caches` there: no "
            "installer clears them."
        )
    else:
        remedy = f"State `no_stale_caches` in step `{later}` and not before it: that is the step that clears them."
    return failure.diagnosis("SP257", summary, remedy)


def _seen(failure: Failure, pattern: re.Pattern[str]) -> re.Match[str] | None:
    """Return where an unmet condition observed `pattern`; nothing of an action that failed by itself."""
    if failure.reason not in _LOADED:
        return None
    told = (text for it in failure.unmet for text in (it.observed, it.why) if text)
    return next((match for text in told if (match := pattern.search(text))), None)


def _only_wanted(failure: Failure) -> str | None:
    names = failure.wishes.names
    return names[0] if len(names) == 1 else None


def _cuda_wanted(failure: Failure) -> str | None:
    """Return the label of the CUDA that an unmet condition wants, or that torch is built for."""
    for it in failure.unmet:
        if match := re.search(r"CUDA (\d+)\.(\d+)", f"{it.text} {it.expected}"):
            return f"cu{match[1]}{match[2]}"
    torch = failure.installed("torch")
    found = re.search(r"\+(cu\d+)", torch.version) if torch is not None else None
    return found[1] if found else None
