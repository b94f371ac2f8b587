"""The wheels: valid, the same each time, honest about what they are."""

import base64
import csv
import hashlib
import io
import zipfile

import pytest
from packaging.requirements import Requirement
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from stackplan.lab.catalogue import NIGHTLY, channels, torch_family
from stackplan.lab.wheels import Wheel

EVERY = [wheel for wheels in channels().values() for wheel in wheels]


def names(wheel):
    return zipfile.ZipFile(io.BytesIO(wheel.content)).namelist()


@pytest.mark.parametrize("wheel", EVERY, ids=lambda wheel: wheel.filename)
def test_every_file_stands_in_record_with_its_digest(wheel):
    with zipfile.ZipFile(io.BytesIO(wheel.content)) as archive:
        (record,) = [name for name in archive.namelist() if name.endswith(".dist-info/RECORD")]
        rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(archive.read(record).decode()))}
        assert set(rows) == set(archive.namelist())
        for name, (digest, size) in rows.items():
            if name == record:
                assert (digest, size) == ("", "")
                continue
            content = archive.read(name)
            encoded = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert (digest, size) == (f"sha256={encoded}", str(len(content)))


@pytest.mark.parametrize("wheel", EVERY, ids=lambda wheel: wheel.filename)
def test_names_versions_and_requirements_are_what_the_standards_want(wheel):
    name, version, _, _ = parse_wheel_filename(wheel.filename)
    assert (name, version) == (wheel.name, Version(wheel.version))
    for requirement in wheel.requires:
        Requirement(requirement)
    assert "stand-in" in wheel.metadata


def test_a_wheel_is_the_same_bytes_each_time():
    first, second = (Wheel("x", "1.0", ("torch",), {"x.py": b"1"}) for _ in range(2))
    assert first.content == second.content
    assert first.sha256 != Wheel("x", "1.0", ("torch",), {"x.py": b"2"}).sha256


def test_no_channel_offers_two_files_of_one_name():
    for channel, wheels in channels().items():
        filenames = [wheel.filename for wheel in wheels]
        assert len(filenames) == len(set(filenames)), channel


@pytest.mark.parametrize(
    ("version", "cuda", "label", "metadata"),
    [
        ("2.10.0", "12.8", True, "2.10.0+cu128"),
        ("2.11.0", "13.0", True, "2.11.0+cu130"),
        (NIGHTLY, "13.0", True, "2.11.0.dev20260226+cu130"),
        ("2.10.0", "12.8", False, "2.10.0"),
    ],
)
def test_torch_says_its_build_in_version_py_and_in_metadata_only_with_a_label(version, cuda, label, metadata):
    torch, vision, audio = torch_family(version, cuda, label=label)
    assert torch.version == metadata
    spoken = {}
    exec(torch.files["torch/version.py"], spoken)
    assert (spoken["cuda"], spoken["__version__"]) == (cuda, f"{version}+cu{cuda.replace('.', '')}")
    assert torch.files["torch/lib/libtorch_cuda.so"].count(f"libcudart.so.{cuda[:2]}".encode()) == 1
    assert Requirement(vision.requires[0]).specifier.contains(torch.version, prereleases=True)
    assert Requirement(audio.requires[0]).specifier.contains(torch.version, prereleases=True)
    assert b"sm_120" in torch.files["torch/_C.py"]


def test_the_kernel_builds_differ_in_the_library_that_they_need():
    def kernel(channel, name):
        (found,) = [wheel for wheel in channels()[channel] if wheel.name == name]
        return found.files["sgl_kernel/sm100/common_ops.abi3.so"]

    assert b"libcudart.so.12\0" in kernel("default", "sgl-kernel")
    assert b"libcudart.so.13\0" in kernel("sgl/whl/cu130", "sgl-kernel")
    assert b"libcudart.so.13\0" in kernel("sgl/whl/cu130", "sglang-kernel")
