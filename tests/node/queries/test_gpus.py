"""The queries about GPUs, against stand-ins for nvidia-smi and for /proc, /sys and /dev."""

import subprocess

import pytest

from stackplan.node.context import CannotTell, Context, ProbeFailed
from stackplan.node.queries import gpu_driver, gpu_processes, gpus

ROW = "0, GPU-5c2b5f8e, 580.95.05, 12.0, 97887, 0, Disabled, Enabled, NVIDIA RTX PRO 6000 Blackwell Server Edition"


def smi(programs, output, exit_code=0):
    return programs.write("nvidia-smi", f"cat <<'END'\n{output}\nEND\nexit {exit_code}")


def test_gpus(programs, context):
    smi(programs, ROW)
    assert gpus.answer({}, context())["gpus"] == [
        {
            "index": 0,
            "uuid": "GPU-5c2b5f8e",
            "driver": "580.95.05",
            "compute_capability": "12.0",
            "memory_bytes": 97887 * 1024 * 1024,
            "ecc_errors": 0,
            "mig": "disabled",
            "persistence": "enabled",
            "name": "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        }
    ]


def test_what_a_gpu_does_not_report_is_null(programs, context):
    smi(programs, "0, GPU-1, 580.95.05, 12.1, [N/A], N/A, [Not Supported], [N/A], NVIDIA GB10, rev. 2")
    (gpu,) = gpus.answer({}, context())["gpus"]
    assert [key for key, value in gpu.items() if value is None] == ["memory_bytes", "ecc_errors", "mig", "persistence"]
    assert gpu["name"] == "NVIDIA GB10, rev. 2"


def test_fields_that_an_old_driver_does_not_know_are_left_out(programs, context):
    programs.write(
        "nvidia-smi",
        """case "$1" in
          *compute_cap*) echo 'Field "compute_cap" is not a valid field to query.'; exit 2 ;;
          *mig.mode*) echo 'Field "mig.mode.current" is not a valid field to query.'; exit 2 ;;
        esac
        echo "0, GPU-1, 470.256.02, 22731, 0, Enabled, NVIDIA A10" """,
    )
    (gpu,) = gpus.answer({}, context())["gpus"]
    assert set(gpu) == {"index", "uuid", "driver", "memory_bytes", "ecc_errors", "persistence", "name"}
    assert gpu["driver"] == "470.256.02"


@pytest.mark.parametrize(("output", "exit_code"), [("No devices were found", 0), ("No devices were found.", 6)])
def test_no_devices(programs, context, output, exit_code):
    smi(programs, output, exit_code)
    assert gpus.answer({}, context())["gpus"] == []


MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.124"


@pytest.mark.parametrize(
    ("output", "exit_code", "why"),
    [
        (MISMATCH, 18, "exit status 18: Failed to initialize NVML: Driver/library version mismatch"),
        (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
            9,
            "exit status 9: NVIDIA-SMI",
        ),
        ("Unable to determine the device handle for GPU 0000:41:00.0: Not Found", 0, "a line that is no row: Unable"),
        (f"{ROW}\nUnable to determine the device handle for GPU0: GPU is lost", 0, "no row: Unable to determine"),
        ("Failed to initialize NVML: Unknown Error", 0, "no row: Failed to initialize"),
        (ROW.replace("12.0", "[Unknown Error]"), 0, "'\\[Unknown Error\\]' for the field compute_cap"),
        (ROW.replace("0, GPU", "[N/A], GPU"), 0, "a GPU without an index"),
        ("", 0, "printed nothing"),
        ('Field "id" is not a valid field to query.', 2, "does not know the field id"),
    ],
)
def test_an_error_on_the_standard_output_is_never_a_value(programs, context, output, exit_code, why):
    smi(programs, output, exit_code)
    with pytest.raises(ProbeFailed, match=why):
        gpus.answer({}, context())


def test_a_warning_between_the_rows_is_passed_over(programs, context):
    smi(programs, f"{ROW}\nWARNING: infoROM is corrupted at gpu 0000:41:00.0")
    assert len(gpus.answer({}, context())["gpus"]) == 1


def test_no_nvidia_smi(context, tmp_path):
    with pytest.raises(CannotTell, match="there is no nvidia-smi on the search path of"):
        gpus.answer({}, context(path=str(tmp_path)))


def test_the_driver_that_the_kernel_has_loaded(root, context, tmp_path):
    path = root / "sys/module/nvidia/version"
    path.parent.mkdir(parents=True)
    path.write_text("580.95.05\n")
    told = gpu_driver.answer({}, context(path=str(tmp_path)))
    assert told == {"version": "580.95.05", "source": "/sys/module/nvidia/version"}
    path.write_text("N/A\n")
    with pytest.raises(CannotTell, match="holds no version: 'N/A'"):
        gpu_driver.answer({}, context())


def test_the_driver_by_nvidia_smi(programs, context):
    smi(programs, "570.153.02\n570.153.02")
    assert gpu_driver.answer({}, context()) == {"version": "570.153.02", "source": "nvidia-smi"}
    smi(programs, "No devices were found")
    with pytest.raises(CannotTell, match=r"neither .* nor nvidia-smi names"):
        gpu_driver.answer({}, context())
    smi(programs, MISMATCH, 18)
    with pytest.raises(ProbeFailed, match="Driver/library version mismatch"):
        gpu_driver.answer({}, context())


def test_an_nvidia_smi_that_knows_no_field_of_those(programs, context):
    smi(programs, 'Field "driver_version" is not a valid field to query.', 2)
    with pytest.raises(CannotTell, match="this nvidia-smi is too old to know the field driver_version"):
        gpu_driver.answer({}, context())


def process(root, pid, name, *targets):
    folder = root / "proc" / str(pid) / "fd"
    folder.mkdir(parents=True)
    (folder.parent / "comm").write_text(f"{name}\n")
    for number, target in enumerate(targets):
        (folder / str(number)).symlink_to(target)
    return folder


def test_who_uses_the_gpus(programs, context, root):
    smi(programs, "41233, GPU-5c2b5f8e, /home/ops/my env/bin/python, -m x")
    process(root, 2, "kthreadd")
    process(root, 41233, "python", "/dev/null", "/dev/nvidia0", "/dev/nvidia-uvm", "/dev/nvidiactl")
    process(root, 977, "Xorg", "/dev/nvidia0", "/dev/nvidia-modeset")
    process(root, 978, "bash", "/dev/pts/0", "/home/ops/dev/nvidia0.txt")
    told = gpu_processes.answer({}, context())
    assert told == {
        "listed": [{"pid": 41233, "name": "/home/ops/my env/bin/python, -m x", "gpu": "GPU-5c2b5f8e"}],
        "holders": [
            {"pid": 977, "name": "Xorg", "devices": ["nvidia0"]},
            {"pid": 41233, "name": "python", "devices": ["nvidia-uvm", "nvidia0", "nvidiactl"]},
        ],
        "hidden": 0,
        "sees_node": True,
    }


def test_what_the_node_program_runs_itself_is_not_told(programs):
    """The program of this test stands for one that asks `kernel_launch` at the same time: who it has started is its."""
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) as child:
        smi(programs, f"1, GPU-5c2b5f8e, init\n{child.pid}, GPU-5c2b5f8e, python")
        told = gpu_processes.answer({}, Context(environment={"PATH": f"{programs.folder}:/usr/bin:/bin"}))
    assert [it["pid"] for it in told["listed"]] == [1]


def test_nobody_uses_the_gpus(programs, context, root):
    smi(programs, "No running processes found")
    process(root, 2, "kthreadd")
    told = gpu_processes.answer({}, context())
    assert (told["listed"], told["holders"], told["sees_node"]) == ([], [], True)


def test_a_container_does_not_see_the_node(programs, context, root):
    smi(programs, "")
    process(root, 1, "sleep")
    assert gpu_processes.answer({}, context())["sees_node"] is True, "no driver, nothing that could be held"
    (root / "proc/driver/nvidia").mkdir(parents=True)
    assert gpu_processes.answer({}, context())["sees_node"] is False


def test_processes_that_may_not_be_looked_into_are_counted(programs, context, root, monkeypatch):
    smi(programs, "")
    process(root, 2, "kthreadd")

    def deny(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(gpu_processes, "_devices", deny)
    assert gpu_processes.answer({}, context())["hidden"] == 1


def test_a_process_without_a_number(programs, context):
    smi(programs, "[Insufficient Permissions], GPU-1, python")
    with pytest.raises(ProbeFailed, match=r"Insufficient Permissions.* for the field pid"):
        gpu_processes.answer({}, context())


def test_an_nvidia_smi_that_fails_says_nothing_of_processes(programs, context):
    smi(programs, MISMATCH, 18)
    with pytest.raises(ProbeFailed, match="Driver/library version mismatch"):
        gpu_processes.answer({}, context())
