"""The edits that mend what does not load: none that the playbook has already, and none where another run mends it."""

import shlex
from dataclasses import replace

from stackplan.actions._failure import Failure
from stackplan.actions._outstanding import environment
from stackplan.actions._wanted_versions import pin_of, to_install
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.facts import Known
from stackplan.model.frozen import dataclass
from stackplan.model.pep503 import canonical_name
from stackplan.model.playbook import Playbook

_WHEELS = {
    "libcudart": "nvidia-cuda-runtime",
    "libnvrtc": "nvidia-cuda-nvrtc",
    "libcublas": "nvidia-cublas",
    "libcublasLt": "nvidia-cublas",
}


@dataclass(frozen=True, slots=True)
class Edit:
    """What mends it, None where nothing is known to; `key` is the argument that an edit is about. `here` False: it is
    no edit of this step.
    """

    text: str | None
    key: str | None = None
    here: bool = True

    def of(
        self, failure: Failure, code: str, summary: str, *names: str | None, causes: tuple[str, ...] = ()
    ) -> Diagnosis:
        """Return the finding with this edit, or with another run in its place, where that brings torch or a package of
        `names`: what is there is not what the playbook asks for, so that no edit follows from how it fails.
        """
        again = _brought_back(failure, frozenset(canonical_name(it) for it in names if it is not None))
        remedy = again or self.text
        found = failure.diagnosis(code, summary, remedy, key=self.key, causes=causes)
        return found if self.here and again is None and remedy is not None else replace(found, remedy_at=None)


def pinned(failure: Failure, name: str | None, build: str | None, major: str) -> Edit:
    """Return the edit that brings the right build of what needs CUDA `major`; `build` is the label that is wanted."""
    stated = to_install(failure.wishes)
    written = (it for it in ("packages", "requirements") if it in failure.arguments)
    own = (it.key for it in stated if name is not None and it.name == canonical_name(name))
    key = next(iter((*own, *written)), None)
    pin = pin_of(failure.wishes, name) if name is not None else None
    if pin is not None and (build is None or pin.leaves(build)):
        wanted = f"for {build}" if build else "for this environment's CUDA"
        text = (
            f"`{pin.shown}` at {failure.place(pin.key)} leaves the installer no other build, and its files are for "
            f"CUDA {major}: name one {wanted} there."
        )
        return Edit(text, pin.key)
    if name is None and stated and all(build and it.leaves(build) for it in stated):
        return Edit(None)
    exact = f" {name}==VERSION+{build}" if name and build else ""
    where = failure.place(key) if key is not None else failure.at
    return Edit(f"Pin the build for this environment's CUDA{exact} at {where}, from an index that offers it.", key)


def brought_by(failure: Failure, library: str, major: str) -> Edit:
    """Return the edit that brings a library of the right CUDA which is not there."""
    if failure.wishes.no_deps:
        return Edit(f"Remove `no_deps` at {failure.place('no_deps')}.", "no_deps")
    wheel = _WHEELS[library.partition(".")[0]]
    if {wheel, f"{wheel}-cu{major}"} & {it.name for it in to_install(failure.wishes)}:
        return Edit(None)
    return Edit(f"Install the NVIDIA libraries of CUDA {major} with it.")


def looked_for(failure: Failure, major: str, folder: str = "its folder") -> Edit:
    """Return what has a library of the right CUDA found which lies in `folder`, where nobody looks."""
    torch, built = failure.installed("torch"), _cuda_of_torch(failure)
    if torch is not None and built is not None and built.partition(".")[0] != major:
        text = (
            f"Install torch for CUDA {major} before it: {torch.name} {torch.version} is built for CUDA {built}, and an "
            "import of it loads the libraries of that one."
        )
        return Edit(text, here=False)
    first = "Import torch before it, or add" if torch is not None else "Add"
    return Edit(f"{first} {folder} to `LD_LIBRARY_PATH` where it is loaded.", here=False)


def _cuda_of_torch(failure: Failure) -> str | None:
    """Return for which CUDA release the installed torch is built, where a condition asked that."""
    for query, answer in failure.facts.of_kind("torch"):
        about = answer.value if isinstance(answer, Known) else None
        mine = (query.arguments.get("venv"), query.user) == (failure.wishes.venv, failure.facts.user)
        if mine and isinstance(about, dict) and isinstance(cuda := about.get("cuda"), str):
            return cuda
    return None


def _brought_back(failure: Failure, names: frozenset[str]) -> str | None:
    """Return that another run brings torch, a library wheel or one of `names`, and why; None where it brings none."""
    if failure.playbook is None or not failure.outstanding:
        return None
    place = environment(failure.facts, failure.wishes.venv)
    for it in failure.outstanding:
        counting = [name for name in it.things if name == "torch" or name in names or name.startswith("nvidia-")]
        if it.place == place and counting:
            told = it.things["torch" if "torch" in counting else counting[0]]
            return f"{_applied(failure.playbook)} puts {failure.wishes.venv} right: step `{it.step}` wants {told}."
    return None


def _applied(playbook: Playbook) -> str:
    """Return the command that applies the playbook to the same nodes, as far as it is known how these were selected."""
    command = f"stackplan apply {shlex.quote(playbook.path)}"
    if playbook.selected_by is None:
        return f"`{command}`, for these nodes and variables,"
    return f"`{command}{playbook.selected_by}`"
