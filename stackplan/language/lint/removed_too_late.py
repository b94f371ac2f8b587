"""An old distribution removed after the new one that writes the same files."""

from collections.abc import Iterator

from stackplan.language.lint._rule import Finding, error
from stackplan.language.lint._subject import Looked, Subject

_SHARED = [
    {"sgl-kernel", "sglang-kernel"},
    {"deep-ep", "sgl-deep-ep"},
    {"mooncake-transfer-engine", "mooncake-transfer-engine-cuda13"},
    {"opencv-python", "opencv-python-headless", "opencv-contrib-python", "opencv-contrib-python-headless"},
    {"pynvml", "nvidia-ml-py"},
    {"onnxruntime", "onnxruntime-gpu"},
    *({f"nvidia-{it}-cu12", f"nvidia-{it}-cu13"} for it in ("nccl", "cudnn", "cusparselt", "nvshmem")),
]
"""Names under which the same files are written."""


def check(subject: Subject) -> Iterator[Finding]:
    for step in subject.installing:
        for old in sorted(step.removed):
            others = {name for group in _SHARED if old in group for name in group if name != old}
            for earlier in subject.installing:
                new = sorted(earlier.names & others)
                if new and earlier.number < step.number and not _restored(subject, step, new[0]):
                    summary = f"{old} and {new[0]} own the same files: removing {old} takes those of {new[0]} along"
                    remedy = f"move this step before `{earlier.id}`, or reinstall {new[0]} behind it"
                    yield Finding(summary, step.place("remove"), remedy, step.id)
                    break


def _restored(subject: Subject, step: Looked, name: str) -> bool:
    return any(it.number >= step.number and name in it.names and it.reinstalls(name) for it in subject.installing)


RULE = error(
    "SP110",
    "an old package is removed after the new one that owns the same files",
    "sgl-kernel and sglang-kernel both write the folder sgl_kernel, and the cu12 and cu13 packages of a NVIDIA "
    "library write the same file. Removing one deletes the files of the other; its metadata stays, `uv pip check` is "
    "content and a plain reinstall says that there is nothing to do. Remove the old name before the new one is "
    "installed, or name the new one in `reinstall` afterwards.",
    check,
)
