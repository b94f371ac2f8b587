"""What stands at a path that an action writes, as the query `target` answers it."""

from collections.abc import Mapping

from stackplan.model.arguments import Arguments, Path, Value
from stackplan.model.change import Held, State
from stackplan.model.condition import Condition
from stackplan.model.facts import Answer, Facts, Known, Plain, Query
from stackplan.model.kind import CannotAct
from stackplan.model.location import Location
from stackplan.model.secret import Secret, Text
from stackplan.model.written import Written, file

_ALL_MAY_READ = 0o004


def target_query(
    path: str, *, follow: bool, secret: bool = False, owner: str | None = None, group: str | None = None
) -> Query:
    """Return the question for what stands at `path`; `follow` asks for what a link there leads to.

    `secret`: what the file holds, or is to hold, is a secret, so nothing is kept by which it could be tried out.
    `owner` and `group` are those that a file is to have there.
    """
    asked: dict[str, Value] = {"path": path, "follow": follow, **({"secret": True} if secret else {})}
    asked.update({key: value for key, value in (("owner", owner), ("group", group)) if value is not None})
    return Query("target", asked)


def read_path(arguments: Arguments, key: str = "path") -> str:
    """Return the path of something on the node. Raise Invalid when it is relative, or the name of nothing."""
    path = arguments.text(key)
    if not path.startswith(("/", "~/")):
        raise arguments.invalid(key, f"`{key}` is not a whole path", expected="a path that begins with / or ~/")
    if path.endswith("/") or any(ord(character) < 32 for character in path):
        raise arguments.invalid(key, f"`{key}` names no file", expected="a path that ends in a name")
    return path


def read_mode(arguments: Arguments) -> str | None:
    """Return the octal digits at `mode`. Raise Invalid for anything else."""
    mode = arguments.optional_text("mode")
    if mode is not None and not (mode.isdigit() and len(mode) in (3, 4) and set(mode) <= set("01234567")):
        raise arguments.invalid(
            "mode", "`mode` is not an octal mode", expected="three or four octal digits, as in 0644"
        )
    return mode


def stated(arguments: Arguments, **values: str | None) -> tuple[Condition, ...]:
    """Return the postcondition `file` with those of `values` that are given: what the action itself brings about."""
    given: dict[str, Value] = {key: value for key, value in values.items() if value is not None}
    places: dict[Path, Location] = {(key,): arguments.place(key) for key in given}
    return (Condition(kind="file", arguments=Arguments(given, arguments.at, places), at=arguments.at),)


def told(answer: Answer) -> Mapping[str, Plain]:
    """Return what a Known answer says; empty otherwise."""
    return answer.value if isinstance(answer, Known) and isinstance(answer.value, dict) else {}


def refusal(answer: Answer, path: str) -> CannotAct | None:
    """Return why nothing can be put at `path`, or None."""
    if not isinstance(answer, Known):
        return CannotAct(f"it is not known what stands at {path}: {answer.why}")
    about = told(answer)
    folder = about.get("folder")
    if about.get("folder_kind") != "folder":
        return CannotAct(
            f"the folder {folder} does not exist", "Make it in an earlier step (`run: {script: mkdir -p …}`)."
        )
    if about.get("folder_writable") is not True:
        owner = about.get("folder_owner")
        who = about.get("user")
        return CannotAct(
            f"{who} may not write into {folder}, which belongs to {owner}", f"Add `user: {owner}` to the step."
        )
    return None


def target_state(answer: Answer, path: str, *, content: Text | None = None) -> State:
    """Return the state ("file", path) of an answer; empty when nothing stands there or it is not known.

    Where `content`, which the file has or is to have, is a secret, neither size nor digest is told: both could be tried
    out. Of another file that not everybody may read the digest is not.
    """
    about = told(answer)
    kind = about.get("kind")
    if kind in (None, "missing"):
        return {}
    if kind == "link":
        return {("file", path): Held(f"link to {about.get('target')}")}
    digest = about.get("sha256")
    mark = digest or f"{about.get('size')}:{about.get('modified_ns')}"
    text = f"mode {about.get('mode')}, {about.get('owner')}:{about.get('group')}"
    if kind != "file":
        return {("file", path): Held(f"{kind}, {text}")}
    secret = isinstance(content, Secret)
    closed = secret or not open_to_all(about.get("mode"))
    # Of a file that is only foretold the size need not be known.
    if not secret and about.get("size") is not None:
        text += f", {about['size']} bytes"
    if digest and not closed:
        text += f", sha256 {str(digest)[:12]}"
    return {("file", path): Held(text, str(mark), str(about.get("modified_ns")) if closed else None)}


def open_to_all(mode: Plain) -> bool:
    """Return whether everybody may read a file of this mode: of another one the content is nobody else's business."""
    return isinstance(mode, str) and bool(int(mode, 8) & _ALL_MAY_READ)


def target_written(answer: Answer) -> tuple[Written, ...]:
    """Return the place that is written, or nothing where it is not known."""
    path = told(answer).get("path")
    return file(path) if isinstance(path, str) else ()


def target_facts(facts: Facts, path: str, *, follow: bool) -> Answer:
    return facts[target_query(path, follow=follow)]
