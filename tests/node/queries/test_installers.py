"""What real installers leave on disk is whole to the queries: no false alarm, and the alarms that matter."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from stackplan.node.queries import distributions, records

UV = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")


def wheel(folder: Path, name: str, version: str, files: dict[str, str]) -> None:
    stem = f"{name}-{version}"
    content = {
        **files,
        f"{stem}.data/scripts/{name}-run": "#!python\nprint('run')\n",
        f"{stem}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{stem}.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{stem}.dist-info/entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n",
    }
    record = "".join(f"{path},,\n" for path in [*content, f"{stem}.dist-info/RECORD"])
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as archive:
        for path, text in content.items():
            archive.writestr(path, text)
        archive.writestr(f"{stem}.dist-info/RECORD", record)


def install(tool: str, environment, wheels: Path, *names: str) -> None:
    python = environment.path / "bin" / "python"
    start = (
        [UV, "pip", "install", "--python", python]
        if tool == "uv"
        else [sys.executable, "-m", "pip", "--python", python]
    )
    words = [*start, *(["install"] if tool == "pip" else []), "--no-index", "--find-links", wheels, *names]
    subprocess.run(words, check=True, capture_output=True, env={"PATH": "/usr/bin:/bin", "HOME": str(wheels)})


@pytest.mark.parametrize("tool", ["uv", "pip"])
def test_installed_upgraded_and_damaged(tool, environment, context, tmp_path):
    if tool == "uv" and UV is None:
        pytest.skip("uv is not installed")
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    wheel(wheels, "torch", "2.10.0+cu128", {"torch/__init__.py": "def main(): pass\n", "torch/old.py": ""})
    install(tool, environment, wheels, "torch")
    assert records.answer(environment.asked, context())["findings"] == {}
    wheel(wheels, "torch", "2.11.0+cu130", {"torch/__init__.py": "def main(): pass\n", "torch/new.py": "x = 1\n"})
    install(tool, environment, wheels, "torch==2.11.0+cu130")
    told = distributions.answer(environment.asked, context())
    assert [(row["name"], row["version"], row["fault"]) for row in told["distributions"]] == [
        ("torch", "2.11.0+cu130", None)
    ]
    assert records.answer(environment.asked, context())["findings"] == {}
    (environment.packages / "torch" / "new.py").unlink()
    found = records.answer(environment.asked, context())["findings"]
    assert found == {
        "missing-file": {"count": 1, "first": [{"distribution": "torch", "path": "torch/new.py", "detail": None}]}
    }
