"""The lab's nvidia-smi answers in the forms of the real one."""

import subprocess

import pytest

from stackplan.lab.gpu import NVIDIA_SMI


@pytest.fixture
def smi(tmp_path):
    path = tmp_path / "nvidia-smi"
    path.write_text(NVIDIA_SMI)
    path.chmod(0o755)

    def run(*flags):
        done = subprocess.run([path, *flags], capture_output=True, text=True, check=False, timeout=20)
        return done.returncode, done.stdout.splitlines()

    return run


def test_a_query_gives_a_header_with_units_and_a_row_for_each_gpu(smi):
    status, lines = smi("--query-gpu=index,name,driver_version,compute_cap,memory.total", "--format=csv")
    assert status == 0
    assert lines[0] == "index, name, driver_version, compute_cap, memory.total [MiB]"
    assert lines[1] == "0, NVIDIA RTX PRO 6000 Blackwell Server Edition, 580.95.05, 12.0, 97887 MiB"
    assert len(lines) == 9


def test_noheader_and_nounits_leave_bare_values(smi):
    assert smi("--query-gpu=index,memory.total", "--format=csv,noheader,nounits", "--id=3") == (0, ["3, 97887"])


def test_spaces_after_commas_in_the_field_list_are_read(smi):
    assert smi("--query-gpu=index, compute_cap", "--format=csv,noheader", "-i", "7") == (0, ["7, 12.0"])


def test_an_unknown_field_is_an_error_on_standard_output(smi):
    assert smi("--query-gpu=index,bogus", "--format=csv,noheader") == (
        2,
        ['Field "bogus" is not a valid field to query.'],
    )


def test_no_process_uses_a_gpu(smi):
    assert smi("--query-compute-apps=pid,process_name", "--format=csv,noheader") == (0, [])
    assert smi("--query-compute-apps=pid,process_name", "--format=csv") == (0, ["pid, process_name"])
