"""The "CUDA Version" of nvidia-smi's header taken for the toolkit or the build."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._subject import Looked, Statement, Subject
from stackplan.language.lint._tree import Block, Command, Group, Part, Pipeline, inside, surface, surface_of
from stackplan.model.regular import regular

_HEADER = regular(r"CUDA|cuda|Driver Version|\b1[1-9]\.\d\b")
_FIELDS = regular(r"CUDA Version|Driver Version|cuda_version")
_READERS = frozenset(
    {"grep", "egrep", "fgrep", "rg", "awk", "gawk", "sed", "perl", "cut", "tr", "head", "xmllint", "xmlstarlet", "xq"}
)
_ASKING = _READERS | {"[", "[[", "test", "case"}
_WITH_HEADER = frozenset({"-q", "--query", "-x", "--xml-format", "-a", "--version", "-i", "--id"})
_TELLING = frozenset({"echo", "printf", "logger", "wall"})
_WRITING = frozenset({"tee", "rm", "touch", "chmod", "chown", "mkdir", "truncate", "install", "ls"})
_SUMMARY = (
    "nvidia-smi's header names what the driver could run, not what is installed, and new drivers word it otherwise"
)
_REMEDY = "state `nvcc` for a toolkit, `torch: {cuda: …}` for a build, `gpu: {driver: …}` for a driver"


def check(subject: Subject) -> Iterator[Finding]:
    for told, statement, step in subject.asked:
        matched = [statement.arguments.values.get(name) for name in ("stdout", "stderr")]
        texts = [str(it) for value in matched for it in (value.values() if isinstance(value, Mapping) else [value])]
        named = [word for it in told if not _shows_header(it) and it.program not in _TELLING for word in it.words]
        wanted = any(_FIELDS.search(it) for it in (*texts, *named))
        if _reads_header(told) or (wanted and any(_shows_header(it) for it in told)):
            yield Finding(_SUMMARY, statement.at, _REMEDY, None if step is None else step.id)
    for statement, step, _ in subject.conditions:
        if _in_python(statement):
            yield Finding(_SUMMARY, statement.at, _REMEDY, None if step is None else step.id)
    for looked in subject.running:
        if looked.script is not None and any(_shows_header(it) for it in looked.commands):
            found = next(_deciding(looked.script.block, _read(looked)), None)
            if found is not None:
                yield Finding(_SUMMARY, looked.command_at(found), _REMEDY, looked.id)


def _shows_header(command: Command) -> bool:
    if command.program != "nvidia-smi":
        return False
    return all(word.partition("=")[0] in _WITH_HEADER or word.isdigit() for word in command.words[1:])


def _in_python(it: Statement) -> bool:
    """Return whether an expression of a `python` condition starts nvidia-smi and looks into its header."""
    text = it.text("expr") if it.kind == "python" else None
    return text is not None and "nvidia-smi" in text and _FIELDS.search(text) is not None


def _reads_header(told: tuple[Command, ...]) -> bool:
    shown = False
    for first, second in pairwise(told):
        # What passes through a `head` is still the header.
        shown = (shown or _shows_header(first)) and first.after in ("|", "|&")
        if shown and second.program in _READERS and any(_HEADER.search(word) for word in second.words[1:]):
            return True
    return any(
        it.program in _ASKING and _FIELDS.search(it.text) and any(map(_shows_header, surface_of(block)))
        for it in told
        for block in it.inner
    )


def _deciding(block: Block, read: str, *, told: bool = False, caught: bool = False) -> Iterator[Command]:
    """Yield the nvidia-smi whose header decides something in a script.

    `told` where what the block prints is only told: what goes into a report that the script does not `read` proves
    nothing and hides nothing. `caught` where it becomes words of another command, or is what a function prints.
    """
    for chain in block.chains:
        for at, pipeline in enumerate(chain.pipelines):
            last = pipeline.parts[-1]
            asked = pipeline.negated or _asked(pipeline, chain.pipelines[at + 1 :])
            shown = not asked and (told or _into_report(last, read))
            first = [it for part in pipeline.parts if (it := next(surface(part), None)) is not None]
            if not shown and _reads_header(tuple(first)):
                yield next((it for it in first if _shows_header(it)), first[0])
            for part in pipeline.parts:
                says = isinstance(part, Command) and part.program in _TELLING and part is last and not caught
                kept = caught or (isinstance(part, Group) and part.kind == "function")
                for inner in inside(part):
                    yield from _deciding(inner, read, told=shown or says, caught=kept or inner.substituted)


def _asked(pipeline: Pipeline, following: tuple[Pipeline, ...]) -> bool:
    """Return whether somebody asks for the status of a pipeline: an `if`, or what stands behind `&&` and `||`."""
    tested = any(isinstance(part, Command) and part.tested for part in pipeline.parts)
    answers = (it for other in following for part in other.parts for it in surface(part))
    return tested or any(it.program not in _TELLING and it.program not in ("true", ":") for it in answers)


def _into_report(part: Part, read: str) -> bool:
    """Return whether all that a part prints goes into a file that the script does not read."""
    targets = [to for sign, to in part.redirections if sign.lstrip("1") in (">", ">>", ">|", "&>", "&>>")]
    if isinstance(part, Command) and part.program == "tee":
        targets += part.plain
    return bool(targets) and all(to not in read for to in targets)


def _read(step: Looked) -> str:
    """Return the words of a script by which it may read a file."""
    words = [word for it in step.commands if it.program not in _WRITING for word in it.words]
    fed = [to for it in step.commands for sign, to in it.redirections if "<" in sign]
    return "\n".join((*words, *fed))


RULE = error(
    "SP133",
    "nvidia-smi's header as proof of a CUDA version",
    '"CUDA Version" in the header is the newest release that the driver supports. It says nothing of the toolkit, '
    "nor of the CUDA that torch was built for. Driver 610 renamed both fields, and scripts that did not find them took "
    "a default. Three numbers, three conditions: `gpu: {driver}`, `nvcc: {release}`, `torch: {cuda}`. What a script "
    "only writes into a report is not meant.",
    check,
    by_step=True,
)
