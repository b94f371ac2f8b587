"""A small Debian repository, and a node that has it and nothing else for a source of packages."""

import contextlib
import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.node.isolated import IsolatedNode, isolated_node

FOLDERS = ("/etc", "/var/lib/dpkg", "/var/lib/apt", "/var/cache", "/var/log", "/usr/share")


def deb(folder: Path, name: str, version: str, *fields: str, postinst: str | None = None) -> None:
    """Build a package of one file."""
    tree = folder / f"{name}-{version}"
    (tree / "DEBIAN").mkdir(parents=True)
    content = tree / "usr/share/stackplan-test" / name
    content.parent.mkdir(parents=True)
    content.write_text(f"{version}\n")
    head = [f"Package: {name}", f"Version: {version}", "Architecture: all", "Maintainer: nobody <nobody@a.example>"]
    (tree / "DEBIAN/control").write_text("\n".join([*head, "Description: for a test", *fields]) + "\n")
    if postinst is not None:
        script = tree / "DEBIAN/postinst"
        script.write_text(f"#!/bin/sh\nset -e\n{postinst}\n")
        script.chmod(0o755)
    argv = ["dpkg-deb", "--build", "--root-owner-group", "-Znone", tree, folder / f"{name}_{version}_all.deb"]
    subprocess.run(argv, check=True, capture_output=True)


def listing(folder: Path) -> str:
    """Return the repository's Packages file."""
    stanzas = []
    for path in sorted(folder.glob("*.deb")):
        control = subprocess.run(["dpkg-deb", "--field", path], check=True, capture_output=True, text=True).stdout
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        stanzas.append(f"{control}Filename: ./{path.name}\nSize: {path.stat().st_size}\nSHA256: {digest}\n")
    return "\n".join(stanzas)


def build(folder: Path) -> Path:
    """Write the packages of the tests: `tool` needs `base`, `rival` and `tool` exclude each other, `loose` cannot be
    installed, `slow` and `broken` do not get through their scripts.
    """
    folder.mkdir()
    deb(folder, "stackplan-base", "1.0")
    deb(folder, "stackplan-base", "2.0")
    deb(folder, "stackplan-tool", "1.0")
    deb(folder, "stackplan-tool", "2.0~rc1")
    deb(folder, "stackplan-tool", "2.0", "Depends: stackplan-base (>= 2.0)")
    deb(folder, "stackplan-rival", "1.0", "Conflicts: stackplan-tool")
    deb(folder, "stackplan-kept", "1.0")
    deb(folder, "stackplan-kept", "2.0")
    deb(folder, "stackplan-loose", "1.0", "Depends: stackplan-nowhere")
    deb(folder, "stackplan-slow", "1.0", postinst="touch /mnt/begun; exec sleep 600")
    deb(folder, "stackplan-broken", "1.0", postinst="echo no kernel headers; exit 10")
    (folder / "Packages").write_text(listing(folder))
    return folder


@contextlib.contextmanager
def debian_node(repository: Path) -> Iterator[IsolatedNode]:
    """A node that has Debian's tools, and of packages only those that a test installs: dpkg's record starts empty."""
    with isolated_node(*FOLDERS) as node:
        node.inside("/mnt/repository").mkdir(mode=0o755)
        for path in repository.iterdir():
            if path.is_file():
                node.inside(f"/mnt/repository/{path.name}").write_bytes(path.read_bytes())
        emptied = "/etc/apt/sources.list.d/* /etc/apt/preferences.d/* /var/lib/apt/lists/* /var/lib/dpkg/info/*"
        node.run("sh", "-c", f"rm -rf {emptied}; : > /var/lib/dpkg/status")
        node.inside("/etc/apt/sources.list").write_text("deb [trusted=yes] file:/mnt/repository ./\n")
        node.run("apt-get", "-qq", "update")
        yield node
