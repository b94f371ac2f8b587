"""A simulated node's folder, which can be deleted as a whole: its HOME, its programs, its Python environment."""

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from stackplan.lab.failure import LabFailed
from stackplan.lab.gpu import NVIDIA_SMI
from stackplan.model.frozen import dataclass

STACK = (
    "torch==2.10.0",
    "torchvision==0.25.0",
    "torchaudio==2.10.0",
    "sgl-kernel==0.3.21",
    "flashinfer-python==0.6.3",
)
"""What an environment of the lab holds at first: the cu128 stack."""


@dataclass(frozen=True)
class Sandbox:
    """Folders of one node: `folder/home` is HOME, `folder/bin` comes first on its PATH."""

    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def programs(self) -> Path:
        return self.folder / "bin"

    @property
    def units(self) -> Path:
        return self.folder / "units"

    @property
    def environment(self) -> dict[str, str]:
        """What a login on the node gives a command; nothing of the lab's own environment is in it."""
        return {
            "HOME": str(self.home),
            "USER": "ops",
            "LOGNAME": "ops",
            "SHELL": "/bin/sh",
            "PATH": f"{self.programs}:/usr/local/bin:/usr/bin:/bin",
            "TMPDIR": str(self.folder / "tmp"),
        }


def build(sandbox: Sandbox, uv: Path, *, index: str, cache: Path, packages: Sequence[str] = STACK) -> None:
    """Make the node's folders and programs, and `~/ml-env` with `packages` installed by uv from the lab's index."""
    for folder in (sandbox.home, sandbox.programs, sandbox.folder / "tmp"):
        folder.mkdir(parents=True, mode=0o700)
    _write_program(sandbox.programs / "nvidia-smi", NVIDIA_SMI)
    # /etc/profile gives a login shell another PATH than the login itself; a real node's profile puts its own in front.
    (sandbox.home / ".profile").write_text(f"PATH={shlex.quote(str(sandbox.programs))}:$PATH\n", encoding="utf-8")
    (sandbox.programs / "uv").symlink_to(uv)
    (sandbox.programs / "python3").symlink_to(plain_python())
    environment = {
        **sandbox.environment,
        "UV_CACHE_DIR": str(cache),
        "UV_NO_CONFIG": "1",
        "UV_PYTHON_DOWNLOADS": "never",
    }
    venv = sandbox.home / "ml-env"
    _run([uv, "venv", "--quiet", "--python", plain_python(), venv], environment)
    target: list[str | os.PathLike[str]] = ["--python", venv / "bin" / "python"]
    # Of two indexes that have a package, uv takes the one of --extra-index-url: torch comes with its label.
    target += ["--index-url", f"{index}/default/", "--extra-index-url", f"{index}/whl/cu128/"]
    _run([uv, "pip", "install", "--quiet", *target, *packages], environment)


def plain_python() -> Path:
    """Return the interpreter that this one's environment was made from."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    return Path(base).resolve()


def _write_program(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def _run(argv: Sequence[str | os.PathLike[str]], environment: dict[str, str]) -> None:
    done = subprocess.run(argv, env=environment, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        words = " ".join(os.fspath(word) for word in argv[1:])
        said = done.stderr.decode(errors="replace").strip()
        raise LabFailed(
            f"a node of the lab could not be made: `uv {words}` exited {done.returncode}",
            observed=said or "nothing was printed",
        )
