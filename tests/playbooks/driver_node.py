"""A machine with a driver of its own: real apt and dpkg, packages with no driver in them, a kernel that "loads" it.

What a driver's packages leave behind is made up by their scripts: the module's version on the disk, the libraries and
the loader's cache, nv-fabricmanager. What the kernel has loaded stands in /sys/module/nvidia/version, and a restart
takes it from the disk. All of it lies in overlays that outlive a restart and vanish with the test.
"""

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

from stackplan.lab.sandbox import Sandbox
from stackplan.lab.services import add_services, add_unit
from tests.node.debian import deb, listing
from tests.node.elf_files import cache_file, elf_file
from tests.node.isolated import OVERLAYS, IsolatedNode
from tests.node.queries.test_driver_parts import MACHINE, module
from tests.sshd.machine import Machine

OLD, NEW = "570.172.08", "580.173.02"
SUFFIX = "-0ubuntu0.24.04.1"
FOLDERS = ("/etc", "/usr", "/var/lib/dpkg", "/var/lib/apt", "/var/cache", "/var/log", "/sys/module")
MODULES = f"/usr/lib/modules/{os.uname().release}"
LIBRARIES = "/usr/lib/stackplan-test"
_LIBRARY = """
mkdir -p {folder}
for name in libcuda.so libnvidia-ml.so; do
  cp /mnt/repository/library {folder}/$name.{version}
  ln -sfn $name.{version} {folder}/$name.1
done
"""
_MODULE = """
if [ -e /mnt/no-headers ]; then echo "No headers for this kernel: the build was skipped."; exit 0; fi
mkdir -p {folder}/updates/dkms
cp /mnt/repository/nvidia-{version}.ko {folder}/updates/dkms/nvidia.ko
echo {version} > {folder}/nvidia-version
echo "updates/dkms/nvidia.ko:" > {folder}/modules.dep
"""
_FABRIC = """
printf '#!/bin/sh\\necho "Fabric Manager version is : {version}"\\n' > /usr/bin/nv-fabricmanager
chmod 755 /usr/bin/nv-fabricmanager
"""
_MODINFO = f'#!/bin/sh\n# A stand-in for modinfo, which knows one module.\ncat "{MODULES}/nvidia-version"\n'
_SYSTEMCTL = """#!/bin/sh
# A stand-in for systemctl: a restart is for the test around it, units are for the lab's.
case " $* " in *" reboot "*) echo restart >>"$HOME/restarts"; touch {asked}; exit 0 ;; esac
exec {lab} "$@"
"""


def repository(folder: Path) -> Path:
    """Write the packages of the old branch and of the new one."""
    folder.mkdir()
    (folder / "library").write_bytes(elf_file(machine=MACHINE))
    for branch, version in (("570", OLD), ("580", NEW)):
        (folder / f"nvidia-{version}.ko").write_bytes(module(version.encode()))
        about = {"version": version}
        scripts = {
            f"libnvidia-compute-{branch}-server": _LIBRARY.format(folder=LIBRARIES, **about),
            f"nvidia-dkms-{branch}-server-open": _MODULE.format(folder=MODULES, **about),
            f"nvidia-fabricmanager-{branch}": _FABRIC.format(**about),
            f"nvidia-utils-{branch}-server": None,
            f"nvidia-headless-{branch}-server-open": None,
        }
        for name, script in scripts.items():
            # As Ubuntu's: only one branch at a time.
            other = name.replace(branch, "570" if branch == "580" else "580")
            deb(folder, name, version + SUFFIX, f"Conflicts: {other}", postinst=script)
    (folder / "Packages").write_text(listing(folder))
    return folder


@contextlib.contextmanager
def driver_machine(sandbox: Sandbox, packages: Path, client_key_line: str):
    """Yield a machine that runs the old driver, with fabric manager and what `sandbox` was built with, and its disk."""
    add_services(sandbox)
    add_unit(sandbox, "nvidia-fabricmanager", [])
    (sandbox.folder / "gpu").write_text("driver=$(cat /sys/module/nvidia/version)\n")
    script = f"{OVERLAYS}\necho ready\nexec cat"
    argv = ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", script, "node", *FOLDERS]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n", "the machine's overlays could not be mounted"
        enter = ("nsenter", "--mount", f"--target={process.pid}", "--")
        disk = IsolatedNode(process, enter)
        try:
            _install_system(disk, packages)
            shutil.move(sandbox.programs / "systemctl", sandbox.programs / "lab-systemctl")
            machine = Machine(sandbox, client_key_line, enter)
            _write(sandbox.programs / "modinfo", _MODINFO)
            lab = sandbox.programs / "lab-systemctl"
            _write(sandbox.programs / "systemctl", _SYSTEMCTL.format(asked=machine.asked, lab=lab))
            machine.when_asked = lambda: (load(disk), machine.restart())
            with machine:
                yield machine, disk
        finally:
            process.stdin.close()
            process.wait(15)


def load(disk: IsolatedNode) -> None:
    """Have the kernel run the driver that is on the disk, as the start of a machine does."""
    disk.run("sh", "-c", f"mkdir -p /sys/module/nvidia; cp {MODULES}/nvidia-version /sys/module/nvidia/version")


def _install_system(disk: IsolatedNode, packages: Path) -> None:
    disk.inside("/mnt/repository").mkdir(mode=0o755)
    for path in packages.iterdir():
        if path.is_file():
            disk.inside(f"/mnt/repository/{path.name}").write_bytes(path.read_bytes())
    emptied = "/etc/apt/sources.list.d/* /etc/apt/preferences.d/* /var/lib/apt/lists/* /var/lib/dpkg/info/*"
    disk.run("sh", "-c", f"rm -rf {emptied} /etc/os-release; : > /var/lib/dpkg/status; mkdir -p {MODULES}/build")
    disk.inside("/etc/os-release").write_text(
        'ID=ubuntu\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04 (a stand-in)"\n'
    )
    disk.inside("/etc/apt/sources.list").write_text("deb [trusted=yes] file:/mnt/repository ./\n")
    rows = [(f"{name}.so.1", f"{LIBRARIES}/{name}.so.1") for name in ("libcuda", "libnvidia-ml")]
    disk.inside("/etc/ld.so.cache").write_bytes(cache_file(rows))
    disk.run("apt-get", "-qq", "update")
    names = ("nvidia-headless-570-server-open", "nvidia-dkms-570-server-open", "nvidia-utils-570-server")
    names += ("libnvidia-compute-570-server", "nvidia-fabricmanager-570")
    disk.run("apt-get", "-qq", "-y", "install", *names)
    load(disk)


def _write(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    path.write_text(text)
    path.chmod(0o755)
