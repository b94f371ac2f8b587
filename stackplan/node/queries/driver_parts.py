"""Which version each part of the NVIDIA driver has: in the kernel, in user space, fabric manager, and after a restart.

Asked without arguments. The answer:
    {"loaded": {"version": "580.95.05", "flavour": "open", "source": "/sys/module/nvidia/version"} or null,
     "libraries": [{"name": "libcuda.so.1", "path": "/lib/x86_64-linux-gnu/libcuda.so.1",
                    "file": "/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05", "version": "580.95.05"}],
     "libraries_fault": null,
     "fabric_manager": {"program": "/usr/bin/nv-fabricmanager", "version": "580.95.05", "fault": null, "switches": 4},
     "kernels": [{"kernel": "6.8.0-45-generic", "running": true, "newest": true,
                  "module": "/lib/modules/6.8.0-45-generic/updates/dkms/nvidia.ko.zst", "version": "580.95.05",
                  "fault": null}]}
`path` null: the loader finds no such library. `version` null without a `fault`: the file's name bears none (Jetson).
`kernels` are the running one and the newest that has an image to boot, as far as the folders of their modules are in
sight: none of them are in a container. `module` is what modprobe would load (the order of modules.dep).

/proc/driver/nvidia/version, where /sys/module/nvidia/version is missing, reads in one of these forms:
    NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024
    NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  565.57.01  Release Build  (builder)  Thu Oct 10 …
"""

from __future__ import annotations

import os
import re
from typing import Any

from stackplan.node.context import CannotTell, Context, ProbeFailed
from stackplan.node.queries import _cached_libraries, _modinfo

LIBRARIES = ("libcuda.so.1", "libnvidia-ml.so.1")
_SYS = "/sys/module/nvidia/version"
_PROC = "/proc/driver/nvidia/version"
_NUMBER = re.compile(r"\d+(\.\d+)+")
_PROC_NUMBER = re.compile(r"  (\d+(?:\.\d+)+)  ")
_FABRIC = re.compile(r"Fabric Manager version is\s*:\s*(\d+(?:\.\d+)+)")
# Debian calls the module nvidia-current.ko.
_MODULE = re.compile(r"^((?:\S*/)?nvidia(?:-current(?:-open)?)?\.ko(?:\.(?:xz|zst|gz))?):", re.MULTILINE)
_DEP_LIMIT = 32 * 1024 * 1024


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:  # noqa: ARG001 - every query has this form
    libraries, fault = _libraries(context)
    return {
        "loaded": _loaded(context),
        "libraries": libraries,
        "libraries_fault": fault,
        "fabric_manager": _fabric_manager(context),
        "kernels": [_kernel(name, running, newest, context) for name, running, newest in _kernels(context)],
    }


def _loaded(context: Context) -> dict[str, Any] | None:
    try:
        line = context.read(_PROC).decode("utf-8", "replace").partition("\n")[0]
    except FileNotFoundError:
        line = ""
    flavour = ("open" if "Open Kernel Module" in line else "closed") if line else None
    try:
        text = context.read(_SYS).decode("ascii", "replace").strip()
    except FileNotFoundError:
        if not line:
            return None
        match = _PROC_NUMBER.search(line)
        if match is None:
            raise CannotTell(f"{_PROC} names no version: {line!r}") from None
        return {"version": match.group(1), "flavour": flavour, "source": _PROC}
    if _NUMBER.fullmatch(text) is None:
        raise CannotTell(f"{_SYS} holds no version: {text!r}")
    return {"version": text, "flavour": flavour, "source": _SYS}


def _libraries(context: Context) -> tuple[list[dict[str, Any]], str | None]:
    try:
        return [_library(name, _cached_libraries.paths(name, context), context) for name in LIBRARIES], None
    except (CannotTell, ProbeFailed) as error:
        return [], error.why


def _library(name: str, paths: list[str], context: Context) -> dict[str, Any]:
    if not paths:
        return {"name": name, "path": None, "file": None, "version": None}
    path = paths[0]
    real = os.path.realpath(context.rooted(path))
    root = os.path.realpath(context.root).rstrip("/")
    file = real[len(root) :] if root and real.startswith(root + "/") else real
    return {"name": name, "path": path, "file": file, "version": _cached_libraries.version_by_name(file)}


def _fabric_manager(context: Context) -> dict[str, Any]:
    told: dict[str, Any] = {"program": context.which("nv-fabricmanager"), "version": None, "fault": None}
    if told["program"] is not None:
        try:
            ran = context.run([told["program"], "--version"], timeout_s=20.0)
            match = _FABRIC.search(ran.text() + ran.error_text())
            told["version"] = match.group(1) if match else None
            told["fault"] = None if match else f"{told['program']} --version does not name one"
        except (CannotTell, ProbeFailed) as error:
            told["fault"] = error.why
    return dict(told, switches=_switches(context))


def _switches(context: Context) -> int:
    """Return how many NVSwitches the PCI bus shows: devices of NVIDIA's that are bridges of the class `other`."""
    folder = context.rooted("/sys/bus/pci/devices")
    try:
        names = os.listdir(folder)
    except OSError:
        return 0
    return sum(
        _text(os.path.join(folder, name, "vendor")) == "0x10de"
        and _text(os.path.join(folder, name, "class")).startswith("0x0680")
        for name in names
    )


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read(64).strip()
    except OSError:
        return ""


def _kernels(context: Context) -> list[tuple[str, bool, bool]]:
    """Return name, whether it runs and whether it is the newest to boot, of the kernels that matter."""
    try:
        names = os.listdir(context.rooted("/lib/modules"))
    except OSError:
        return []
    running = os.uname().release
    bootable = [name for name in names if name == running or _has_image(name, context)]
    newest = max(bootable, key=_order, default=running)
    return [(name, name == running, name == newest) for name in sorted({running, newest} & set(names), key=_order)]


def _has_image(name: str, context: Context) -> bool:
    places = (f"/boot/vmlinuz-{name}", f"/lib/modules/{name}/vmlinuz", f"/boot/Image-{name}")
    return any(os.path.exists(context.rooted(place)) for place in places)


def _order(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.findall(r"\d+|[a-zA-Z]+", name)]


def _kernel(name: str, running: bool, newest: bool, context: Context) -> dict[str, Any]:
    told: dict[str, Any] = {"kernel": name, "running": running, "newest": newest}
    told.update(module=None, version=None, fault=None)
    folder = f"/lib/modules/{name}"
    try:
        dependencies = context.read(f"{folder}/modules.dep", _DEP_LIMIT).decode("utf-8", "replace")
    except FileNotFoundError:
        return dict(told, fault=f"there is no {folder}/modules.dep")
    except ProbeFailed as error:
        return dict(told, fault=error.why)
    match = _MODULE.search(dependencies)
    if match is None:
        return told
    module = os.path.join(folder, match.group(1))
    version, fault = _modinfo.module_version(module, context)
    if version is None:
        version = _by_dkms(name, context)
    return dict(told, module=module, version=version, fault=fault if version is None else None)


def _by_dkms(kernel: str, context: Context) -> str | None:
    """Return the version that DKMS has built for a kernel, by its folders; None where it is not one alone."""
    folder = context.rooted("/var/lib/dkms/nvidia")
    try:
        built = [name for name in os.listdir(folder) if os.path.isdir(os.path.join(folder, name, kernel))]
    except OSError:
        return None
    versions = {name for name in built if _NUMBER.fullmatch(name)}
    return versions.pop() if len(versions) == 1 else None
