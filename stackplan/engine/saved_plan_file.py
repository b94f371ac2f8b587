"""Saved plans on the disk: written whole, for their owner alone; known by what is in them, never by their name."""

import codecs
import os
import tempfile
from pathlib import Path

from stackplan.engine.encoding import Malformed
from stackplan.engine.json_text import BYTE_ORDER_MARK, fault, format_of
from stackplan.engine.saved_plan import SavedPlan, decode, encode, is_plan
from stackplan.model.diagnosis import Diagnosis, Invalid

LARGEST_BYTES = 256 * 1024 * 1024
_SNIFFED_BYTES = 64 * 1024
_NO_PLACES = (("/", "dev"), ("/", "proc"), ("/", "sys"))
"""`/dev/stdout` is a link to whatever file standard output goes to, and a new file would take the link's place."""
_OTHERS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    ("{".encode("utf-16-le"), "utf-16-le"),
    ("{".encode("utf-16-be"), "utf-16-be"),
)
"""How a text begins that something other than stackplan has written, and in which encoding; the first that fits."""
_AGAIN = "make a new one with `stackplan plan PLAYBOOK -o FILE`"


def is_plan_file(path: Path) -> bool:
    """Return whether a path leads to a saved plan; one that was damaged, or is of another version, is one, too."""
    return (text := _json_text(path)) is not None and is_plan(text)


def other_document(path: Path) -> str | None:
    """Return the format of a document of stackplan that is no plan (`stackplan.facts/1`); None for anything else."""
    text = _json_text(path)
    return None if text is None or is_plan(text) else format_of(text)


def _json_text(path: Path) -> str | None:
    """Return what stands in a file that begins like a JSON object; of a plan the beginning may do."""
    try:
        # A pipe would be waited for, and what was read of it would be gone.
        if not path.is_file():
            return None
        with path.open("rb") as file:
            begins = file.read(_SNIFFED_BYTES)
            text = _decoded(begins)
            if not text.lstrip(BYTE_ORDER_MARK).lstrip().startswith("{"):
                return None
            if is_plan(text):
                return text
            rest = file.read(LARGEST_BYTES) if len(begins) == _SNIFFED_BYTES else b""
    except (OSError, ValueError):
        return None
    return _decoded(begins + rest)


def _decoded(data: bytes) -> str:
    return data.decode(_other_encoding(data) or "utf-8", "replace")


def _other_encoding(data: bytes) -> str | None:
    """Return the encoding of a text that is not UTF-8 by its first bytes; None where nothing speaks of another one."""
    return next((name for begins, name in _OTHERS if data.startswith(begins)), None)


def read_plan(path: Path) -> SavedPlan:
    """Return the plan in a file. Raise Invalid for what cannot be read or is not as it was written."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise Invalid([_unusable(path, getattr(error, "strerror", None) or str(error))]) from error
    if len(data) > LARGEST_BYTES:
        raise Invalid([_unusable(path, f"it is larger than {LARGEST_BYTES} bytes")])
    if (encoding := _other_encoding(data)) is not None:
        raise Invalid([_written_anew(path, encoding)])
    try:
        return decode(data.decode("utf-8"))
    except (Malformed, UnicodeDecodeError) as error:
        raise Invalid([_unusable(path, fault(error))]) from error


def _unusable(path: Path, why: str) -> Diagnosis:
    expected = "a plan as `stackplan plan -o` wrote it"
    return Diagnosis(summary=f"the plan {path} cannot be used", expected=expected, observed=why, remedy=_AGAIN)


def _written_anew(path: Path, encoding: str) -> Diagnosis:
    return Diagnosis(
        summary=f"the plan {path} cannot be used: it is a text in {encoding[:6].upper()}",
        expected="the plan in UTF-8, byte for byte as `stackplan plan -o` wrote it",
        observed="something has written it anew (an editor, or PowerShell's `>`)",
        remedy=f"copy the file itself, or {_AGAIN}",
    )


def check_place(path: Path) -> None:
    """Raise Invalid where no plan can be written to `path`, or where it would take the place of something else."""
    if str(path) == "-" or path.absolute().parts[:2] in _NO_PLACES:
        summary = f"the plan cannot be written: {path} is no file of its own"
        remedy = "name a file; what the plan says goes to standard output anyway"
        raise Invalid([Diagnosis(summary=summary, remedy=remedy)])
    try:
        folder = _end(path).parent
    except (OSError, RuntimeError) as error:
        summary = f"the plan cannot be written: where {path} leads cannot be followed"
        raise Invalid([Diagnosis(summary=summary, observed=str(error))]) from error
    try:
        if path.exists() and not path.is_file():
            raise Invalid([Diagnosis(summary=f"the plan cannot be written: {path} is no file")])
        if not folder.is_dir():
            raise Invalid([Diagnosis(summary=f"the plan cannot be written: there is no folder {folder}")])
    except OSError as error:
        summary = f"the plan cannot be written to {str(path)[:80]}"
        raise Invalid([Diagnosis(summary=summary, observed=error.strerror or str(error))]) from error
    _check_folder(folder)
    if path.is_file() and path.stat().st_size and not is_plan_file(path):
        summary = f"the plan would take the place of {path}, which is no plan"
        raise Invalid([Diagnosis(summary=summary, remedy="name another file, or remove that one first")])


def _end(path: Path) -> Path:
    """Return the file that a path leads to: a link stays, and what it leads to is written."""
    return path.absolute().resolve() if path.is_symlink() else path.absolute()


def _check_folder(folder: Path) -> None:
    """Raise Invalid where no file can be made in a folder: better told before the nodes are asked."""
    try:
        descriptor, beside = tempfile.mkstemp(dir=folder, prefix=".plan-")
        os.close(descriptor)
        os.unlink(beside)  # noqa: PTH108 - `beside` is a text
    except OSError as error:
        summary = f"the plan cannot be written: no file can be made in {folder}"
        # `/proc` says of a new file that there is no such file.
        observed = None if isinstance(error, FileNotFoundError) else error.strerror or str(error)
        raise Invalid(
            [Diagnosis(summary=summary, observed=observed, remedy="name a file in another folder")]
        ) from error


def write_plan(path: Path, plan: SavedPlan) -> None:
    """Write the plan, whole or not at all, readable by its owner alone. Raise Invalid when that cannot be."""
    try:
        path = _end(path)
        descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=".plan-")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(encode(plan))
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)  # noqa: PTH105 - `beside` is a text
        except BaseException:
            os.unlink(beside)  # noqa: PTH108 - as above
            raise
    except OSError as error:
        summary = f"the plan cannot be written to {path}"
        raise Invalid([Diagnosis(summary=summary, observed=error.strerror or str(error))]) from error
