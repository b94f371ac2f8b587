"""The systemd units of a simulated node: stand-ins for systemctl and journalctl, and servers that load no model.

`sglang` runs from ~/ml-env and `vllm` from ~/vllm-env, which a playbook makes. Neither is started before somebody asks.
"""

import json
import shlex
import shutil
import socket
import subprocess
from pathlib import Path

from stackplan.lab.sandbox import Sandbox

_HERE = Path(__file__).resolve().parent
_SERVERS = {
    "sglang": ("ml-env", ("sglang", "torch", "sgl_kernel", "flashinfer")),
    "vllm": ("vllm-env", ("vllm", "torch", "flashinfer")),
}


def add_services(sandbox: Sandbox) -> int:
    """Give a node systemctl, journalctl and its units; return the port of loopback on which its servers answer."""
    shutil.copyfile(_HERE / "inference_server.py", sandbox.programs / "inference_server.py")
    for name in ("systemctl", "journalctl"):
        _add_program(sandbox, name)
    sandbox.units.mkdir(mode=0o700)
    port = _free_port()
    for name, (environment, modules) in _SERVERS.items():
        interpreter = sandbox.home / environment / "bin" / "python"
        server = sandbox.programs / "inference_server.py"
        add_unit(sandbox, name, [str(interpreter), "-I", str(server), str(port), str(sandbox.units), *modules])
    return port


def _add_program(sandbox: Sandbox, name: str) -> None:
    """Give a node the stand-in for a program, run by the node's own Python."""
    script = sandbox.programs / f"{name}.py"
    shutil.copyfile(_HERE / script.name, script)
    run = f"{shlex.quote(str(sandbox.programs / 'python3'))} -I {shlex.quote(str(script))}"
    program = sandbox.programs / name
    program.write_text(f'#!/bin/sh\n# A stand-in of stackplan\'s lab for {name}.\nexec {run} "$@"\n')
    program.chmod(0o755)


def add_unit(sandbox: Sandbox, name: str, argv: list[str], *, started: bool = False) -> None:
    """Add a unit; one without `argv` has no process and is active once it was `started`."""
    unit = {"argv": argv, "started": started, "file_state": "enabled", "pid": None, "since": None}
    text = json.dumps({**unit, "invocation": "", "changed": 0})
    (sandbox.units / f"{name}.json").write_text(text, encoding="utf-8")


def end_services(sandbox: Sandbox) -> None:
    """End whatever units of the node still run."""
    for path in sandbox.units.glob("*.json"):
        argv = [str(sandbox.programs / "systemctl"), "stop", "--", path.stem]
        subprocess.run(argv, env=sandbox.environment, check=False, capture_output=True, stdin=subprocess.DEVNULL)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port
