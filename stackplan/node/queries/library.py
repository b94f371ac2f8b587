"""Which file a library's name leads a program to, and which version that file says it has.

Asked with `{"name": "libnccl.so.2", "path": null}` and `venv` or `python`, whose interpreter is started and imports
torch first where it is installed, for what torch has loaded counts for all that follows; without them the user's login
shell is asked for its environment, and the node program's own interpreter is started in it. `path` is a file or folder
that is compared on the node. The answer, behind what every answer about an environment begins with:
    {"name": "libnccl.so.2", "loaded": "/home/ops/ml-env/lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2",
     "file": "…", "version": "2.28.9", "source": "ncclGetVersion", "by_torch": true, "torch_fault": null, "fault": null,
     "call_fault": null, "library_path": null, "within": true, "others": ["/usr/lib/x86_64-linux-gnu/libnccl.so.2"]}
`loaded` null: the loader finds none, and `fault` is what it says. `file` is the end of its links. `source` says where
the version comes from: the function that was called, or `file name`. `others` are copies that this program does not
load. `within` is null where no `path` was given.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

from stackplan.node.context import CannotTell, Context, ProbeFailed
from stackplan.node.queries import _cached_libraries, _environment, _fresh_shells, _interpret

TIMEOUT_S = 120.0
_MOST_OTHERS = 8
# How a library tells its version: a function, and the form in which it does. `number/B` is one number whose parts are
# apart by B; cuDNN before 9 and NCCL before 2.9 used 1000 and 100 where they have 10000 and 100 now.
_CALLS = {
    "libnccl": ("ncclGetVersion", "pointer"),
    "libcudnn": ("cudnnGetVersion", "value"),
    "libcudart": ("cudaRuntimeGetVersion", "pointer-cuda"),
    "libnvrtc": ("nvrtcVersion", "two"),
    "libnvJitLink": ("nvJitLinkVersion", "two"),
    "libcublas": ("cublasGetProperty", "property"),
    "libcublasLt": ("cublasLtGetProperty", "property"),
    "libcufft": ("cufftGetProperty", "property"),
    "libcusparse": ("cusparseGetProperty", "property"),
    "libcusolver": ("cusolverGetProperty", "property"),
    "libcurand": ("curandGetProperty", "property"),
}
_CODE = """
import ctypes, importlib.util
name, call = argument["name"], argument["call"]
found = {"by_torch": False, "torch_fault": None, "loaded": None, "fault": None, "version": None}
maps = lambda: {line.split(None, 5)[5].strip() for line in open("/proc/self/maps", errors="replace") if "/" in line}
if argument["torch"] and importlib.util.find_spec("torch") is not None:
    before = maps()
    try:
        importlib.import_module("torch")
    except BaseException as error:
        found["torch_fault"] = (type(error).__name__ + ": " + str(error)).splitlines()[0][:500]
    new = maps() - before
try:
    library = ctypes.CDLL(name)
except OSError as error:
    found["fault"] = str(error)[:500]
    tell(found)
    sys.exit(0)
class Link(ctypes.Structure):
    _fields_ = [("address", ctypes.c_void_p), ("name", ctypes.c_char_p)]
link = ctypes.c_void_p()
dlinfo = getattr(ctypes.CDLL(None), "dlinfo", None) or ctypes.CDLL("libdl.so.2").dlinfo
dlinfo.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
if dlinfo(library._handle, 2, ctypes.byref(link)) == 0 and link.value:
    path = os.fsdecode(ctypes.cast(link, ctypes.POINTER(Link)).contents.name or b"")
    found["loaded"] = os.path.normpath(path) if path else None
found["by_torch"] = "new" in globals() and bool(found["loaded"]) and os.path.realpath(found["loaded"]) in new
def parts(number, first):
    return "%d.%d.%d" % (number // first, number % first // 100, number % 100)
if call:
    function, form = getattr(library, call[0], None), call[1]
    first, second = ctypes.c_int(), ctypes.c_int()
    if function is not None and form == "pointer" and function(ctypes.byref(first)) == 0:
        found["version"] = parts(first.value, 10000 if first.value >= 10000 else 1000)
    elif function is not None and form == "pointer-cuda" and function(ctypes.byref(first)) == 0:
        found["version"] = "%d.%d" % (first.value // 1000, first.value % 1000 // 10)
    elif function is not None and form == "value":
        function.restype = ctypes.c_size_t
        number = function()
        found["version"] = parts(number, 10000 if number >= 90000 else 1000)
    elif function is not None and form == "two" and function(ctypes.byref(first), ctypes.byref(second)) == 0:
        found["version"] = "%d.%d" % (first.value, second.value)
    elif function is not None and form == "property":
        numbers = []
        for which in range(3):
            if function(which, ctypes.byref(first)) != 0:
                break
            numbers.append(str(first.value))
        found["version"] = ".".join(numbers) if len(numbers) == 3 else None
tell(found)
"""


def answer(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    name = str(arguments["name"])
    of_environment = bool(arguments.get("venv") or arguments.get("python"))
    head: dict[str, Any] = {}
    interpreter: str | None = sys.executable
    environment = dict(context.environment())
    if of_environment:
        interpreter, head = _environment.runnable(arguments, context)
    else:
        environment = _login(context)
    told = dict(head, name=name, file=None, source=None, call_fault=None, within=None, others=[], version=None)
    told.update(loaded=None, fault=None, by_torch=False, torch_fault=None)
    told["library_path"] = environment.get("LD_LIBRARY_PATH") or None
    if interpreter is None:
        return told
    told.update(_loaded(interpreter, name, Context(environment=environment), torch=of_environment))
    _judge_file(told)
    if arguments.get("path") and told["loaded"]:
        told["within"] = _within(told, context.expand(arguments["path"]))
    told["others"] = _others(name, told, head.get("site_packages") or [], context)
    return told


def _login(context: Context) -> dict[str, str]:
    shell = _fresh_shells.ask(context)[0]
    if shell.environment is None:
        raise ProbeFailed(str(shell.fault))
    return shell.environment


def _loaded(interpreter: str, name: str, context: Context, *, torch: bool) -> dict[str, Any]:
    """Return what the loader does; once more without a call into the library where that ends the interpreter."""
    call = _CALLS.get(name.partition(".so")[0])
    asked = {"name": name, "call": call, "torch": torch}
    try:
        found: dict[str, Any] = _interpret.told(interpreter, _CODE, asked, context, TIMEOUT_S)
    except (_interpret.Died, ProbeFailed) as error:
        if call is None:
            raise ProbeFailed(f"loading {name}: {error.why}", error.stderr) from error
        try:
            found = _interpret.told(interpreter, _CODE, dict(asked, call=None), context, TIMEOUT_S)
        except _interpret.Died as again:
            raise ProbeFailed(f"loading {name}: {again.why}", again.stderr) from again
        return dict(found, call_fault=f"{call[0]}: {error.why}")
    return dict(found, source=call[0] if call and found["version"] else None)


def _judge_file(told: dict[str, Any]) -> None:
    if told["loaded"] is None:
        return
    told["file"] = os.path.realpath(told["loaded"])
    if told["version"] is None and (version := _cached_libraries.version_by_name(told["file"])) is not None:
        told.update(version=version, source="file name")


def _within(told: dict[str, Any], path: str) -> bool:
    """Return whether the file is at or below a path, by the names under which both are known."""
    ends = {path.rstrip("/"), os.path.realpath(path)}
    return any(file == end or file.startswith(f"{end}/") for file in (told["loaded"], told["file"]) for end in ends)


def _others(name: str, told: dict[str, Any], packages: list[str], context: Context) -> list[str]:
    """Return further copies: beside the packages of the environment, in LD_LIBRARY_PATH, in the loader's cache."""
    found = []
    for folder in packages:
        for depth in ("nvidia/*/lib", "nvidia/*/lib64"):
            found += _glob(os.path.join(folder, depth, name))
    found += [os.path.join(folder, name) for folder in (told["library_path"] or "").split(":") if folder[:1] == "/"]
    # Other copies only explain; what is loaded is known without them.
    with contextlib.suppress(CannotTell, ProbeFailed):
        found += _cached_libraries.paths(name, context)
    there = [path for path in dict.fromkeys(found) if os.path.exists(path)]
    return [path for path in there if os.path.realpath(path) != told["file"]][:_MOST_OTHERS]


def _glob(pattern: str) -> list[str]:
    import glob  # noqa: PLC0415 - only here, and each import counts on every node

    return sorted(glob.glob(pattern))
