"""The query `kernel_launch`, with a stand-in for torch: it computes on lists, and its GPUs do what a test tells them.

No GPU is here. What the real torch does on one was looked at by hand; the words of its errors are true ones.
"""

import json
from pathlib import Path

import pytest

from stackplan.node.frames import Decoder, encode
from stackplan.node.queries import kernel_launch
from stackplan.reports.safe import safe

# Each GPU behaves as FAULTS tells: nothing, an exception's text, hang, a signal, or a wrong result.
TORCH = """
import json, os, signal
from types import SimpleNamespace
from torch import _C
told = json.loads(%r)
if told.get("import"):
    raise ImportError(told["import"])
__version__, version = told.get("version", "2.11.0+cu130"), SimpleNamespace(cuda=told.get("cuda", "13.0"))
float32 = "float32"
class AcceleratorError(RuntimeError): pass
class OutOfMemoryError(RuntimeError): pass
visible = os.environ.get("CUDA_VISIBLE_DEVICES")
devices = [visible] if visible is not None else [str(index) for index in range(told.get("count", 1))]
def act(device):
    if device is None:
        return None
    what = told.get("faults", {}).get(devices[int(device.partition(":")[2])])
    with open(told["log"], "a") as log:
        log.write(f"{os.getpid()} {device} {visible}\\n")
    if what == "hang":
        signal.pause()
    if what and what.startswith("SIG"):
        os.kill(os.getpid(), getattr(signal, what))
    if what and what.startswith("memory"):
        raise OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")
    if what and what != "wrong":
        raise AcceleratorError(what)
    return what
class Tensor:
    def __init__(self, values, device=None):
        self.values, self.device = list(values), device
    def of(self, change):
        return Tensor([change(value) for value in self.values], self.device)
    def __mul__(self, other): return self.of(lambda value: value * other)
    def __add__(self, other): return self.of(lambda value: value + other)
    def __mod__(self, other): return self.of(lambda value: value %% other)
    def __matmul__(self, other): return self.of(lambda value: value + other.values[0])
    def reshape(self, *shape): return self
    def float(self): return self
    def cpu(self): return Tensor(self.values)
    def to(self, device): return Tensor(self.values, device)
    def sum(self): return Tensor([float(sum(self.values)) - (1 if act(self.device) == "wrong" else 0)])
    def item(self): return self.values[0]
def arange(count, dtype=None, device=None):
    act(device)
    return Tensor(range(count), device)
def equal(one, other): return one.values == other.values
def init():
    if told.get("init"):
        raise RuntimeError(told["init"])
cuda = SimpleNamespace(
    init=init, device_count=lambda: len(devices), synchronize=act, OutOfMemoryError=OutOfMemoryError,
    get_device_name=lambda index: "NVIDIA H200", get_device_capability=lambda index: (9, 0),
    get_arch_list=lambda: told.get("archs", ["sm_90", "sm_120"]),
)
"""
IMAGE = "CUDA error: no kernel image is available for execution on the device\nCUDA kernel errors might be reported"


@pytest.fixture
def torch(environment, tmp_path):
    log = tmp_path / "log"

    def put(**told):
        text = json.dumps({**told, "log": str(log)})
        environment.write("torch/__init__.py", TORCH % text)
        environment.write("torch/_C.py", "def _cuda_getArchFlags():\n    return None\n")

    put.log = log
    return put


@pytest.fixture
def ask(environment, context):
    def answer(gpus=None):
        return kernel_launch.answer({**environment.asked, "gpus": gpus}, context())

    return answer


def smi(programs, rows, listing=""):
    lines = "\n".join(f"{index}, GPU-{index}, 9.0, {mig}, NVIDIA H200" for index, mig in rows)
    programs.write("nvidia-smi", f"[ \"$1\" = -L ] && cat <<'END' && exit\n{listing}\nEND\ncat <<'END'\n{lines}\nEND")


@pytest.fixture(autouse=True)
def no_smi(programs):
    """A node's own nvidia-smi would be found behind the stand-ins."""
    programs.write("nvidia-smi", "echo 'NVIDIA-SMI has failed'; exit 9")


def faults(told):
    return {row["index"]: row["fault"] for row in told["gpus"]}


def test_every_gpu_is_right(torch, ask, programs):
    torch(count=2)
    smi(programs, [(0, "[N/A]"), (1, "Disabled")])
    told = ask()
    assert told["torch"] == {"version": "2.11.0+cu130", "cuda": "13.0", "archs": ["sm_90", "sm_120"]}
    assert (told["expected"], told["seen"], told["fault"]) == (2, 2, None)
    assert told["gpus"][1] == {
        "index": 1,
        "device": "1",
        "name": "NVIDIA H200",
        "compute_capability": "9.0",
        "fault": None,
        "memory": False,
    }
    assert len({line.split()[0] for line in torch.log.read_text().splitlines()}) == 1, "one process for all"


def test_only_the_named_ones(torch, ask):
    torch(count=4)
    assert list(faults(ask([1, 3, 7]))) == [1, 3]


def test_no_kernel_image(torch, ask):
    torch(count=2, faults={"0": IMAGE})
    told = ask()
    first = "AcceleratorError: CUDA error: no kernel image is available for execution on the device"
    assert faults(told) == {0: first, 1: None}
    assert told["gpus"][0]["compute_capability"] == "9.0"
    assert len({line.split()[0] for line in torch.log.read_text().splitlines()}) == 2, "a fresh one for the rest"


def test_a_wrong_result(torch, ask):
    torch(faults={"0": "wrong"})
    assert faults(ask()) == {0: "a sum came out wrong: 16777215.0, not 16777216"}


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGKILL"])
def test_a_crash_costs_its_gpu_alone(torch, ask, name):
    torch(count=3, faults={"1": name})
    assert faults(ask()) == {0: None, 1: f"the interpreter was ended by {name}", 2: None}


def test_a_hang_costs_its_gpu_alone(torch, ask, monkeypatch):
    torch(count=3, faults={"1": "hang"})
    monkeypatch.setattr(kernel_launch, "PATIENCE_S", 6.0)
    assert faults(ask()) == {0: None, 1: "the interpreter did not end within 6 s", 2: None}


FLOOD = "def flood(count):\n    import sys\n    for _ in range(count):\n        sys.{}.write('x' * 999_999 + '\\n')\n"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_torch_that_prints_without_measure_hides_nothing(environment, torch, ask, stream):
    torch(faults={"0": "CUDA error: an illegal memory access"})
    told = TORCH % json.dumps({"log": str(torch.log)})
    environment.write("torch/__init__.py", FLOOD.format(stream) + "flood(50)\n" + told)
    assert faults(ask()) == {0: None}
    environment.write("torch/__init__.py", FLOOD.format(stream) + "flood(50)\nraise ImportError('libcudart.so.12')\n")
    assert ask()["fault"] == "ImportError: libcudart.so.12", "the reason stands behind all of it"


def test_a_torch_that_never_stops_printing_is_ended(environment, ask, monkeypatch):
    environment.write("torch/__init__.py", FLOOD.format("stdout") + "while True:\n    flood(9)\n")
    monkeypatch.setattr(kernel_launch, "PATIENCE_S", 3.0)
    assert ask()["fault"] == "the interpreter did not end within 3 s, and it prints more than is kept"


def test_hostile_words_of_a_torch_are_bounded_and_travel(torch, ask):
    torch(faults={"0": "\x1b[2J\udcff\0 " + "x" * 10_000_000}, version="2" * 1_500_000)
    told = ask()
    assert list(Decoder().feed(encode({"known": told}))) == [{"known": told}]
    assert told["gpus"][0]["fault"].startswith("AcceleratorError: \x1b[2J\udcff\0 xxx")
    assert len(told["gpus"][0]["fault"]) == 500
    assert told["torch"]["version"] == "2" * 100
    assert safe(told["gpus"][0]["fault"]).isprintable()


def test_there_is_a_time_limit_for_all(torch, ask, monkeypatch):
    torch(count=2)
    monkeypatch.setattr(kernel_launch, "LONGEST_S", -1.0)
    told = ask()
    assert (told["torch"], told["gpus"]) == (None, [])
    assert told["fault"] == "there was no more time for it (-1 s for all GPUs)"


def test_too_little_memory_says_nothing_of_the_kernel(torch, ask):
    torch(count=1, faults={"0": "memory"})
    (row,) = ask()["gpus"]
    assert row["memory"] is True
    assert row["fault"] == "OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB."


def test_fewer_than_nvidia_smi_names_whatever_the_variable_says(torch, ask, programs, monkeypatch):
    torch(count=2)
    smi(programs, [(index, "Disabled") for index in range(8)])
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5")
    told = ask()
    assert (told["expected"], told["seen"], len(told["gpus"])) == (8, 2, 2)


def test_no_gpu_and_why(torch, ask):
    torch(init="Found no NVIDIA driver on your system. Please check\nmore")
    told = ask()
    assert (told["seen"], told["gpus"]) == (0, [])
    assert told["fault"] == "RuntimeError: Found no NVIDIA driver on your system. Please check"


def test_a_build_without_cuda(torch, ask):
    torch(version="2.11.0+cpu", cuda=None, archs=[], init="Torch not compiled with CUDA enabled")
    told = ask()
    assert told["torch"] == {"version": "2.11.0+cpu", "cuda": None, "archs": []}
    assert told["fault"].endswith("Torch not compiled with CUDA enabled")


def test_a_torch_that_does_not_import(torch, ask):
    torch(**{"import": "libcudart.so.12: cannot open shared object file"})
    told = ask()
    assert told["torch"] is None
    assert told["fault"] == "ImportError: libcudart.so.12: cannot open shared object file"


def test_no_torch_and_no_environment(environment, ask, context, tmp_path):
    assert ask()["fault"] == "ModuleNotFoundError: No module named 'torch'"
    told = kernel_launch.answer({"venv": str(tmp_path / "none"), "gpus": None}, context())
    assert (told["exists"], told["gpus"]) == (False, [])


LISTING = """GPU 0: NVIDIA H200 (UUID: GPU-0)
  MIG 1g.18gb     Device  0: (UUID: MIG-aaaa)
  MIG 3g.71gb     Device  1: (UUID: MIG-bbbb)
GPU 1: NVIDIA H200 (UUID: GPU-1)
GPU 2: NVIDIA H200 (UUID: GPU-2)"""


def test_instances_of_mig_each_alone(torch, ask, programs):
    torch(faults={"MIG-bbbb": IMAGE})
    smi(programs, [(0, "Enabled"), (1, "Disabled"), (2, "Enabled")], LISTING)
    told = ask()
    assert [(row["index"], row["device"], bool(row["fault"])) for row in told["gpus"]] == [
        (0, "MIG-aaaa", False),
        (0, "MIG-bbbb", True),
        (1, "GPU-1", False),
        (2, "MIG", True),
    ]
    assert told["gpus"][3]["fault"] == "MIG is on and there is no instance"
    assert (told["expected"], told["seen"]) == (4, 3)
    seen = {line.split()[2] for line in torch.log.read_text().splitlines()}
    assert seen == {"MIG-aaaa", "MIG-bbbb", "GPU-1"}


def test_an_nvidia_smi_too_old_for_a_field_is_asked_less(torch, ask, programs):
    torch()
    programs.write(
        "nvidia-smi",
        """case "$1" in
          *compute_cap*) echo 'Field "compute_cap" is not a valid field to query.'; exit 2 ;;
        esac
        echo "0, GPU-0, Disabled, NVIDIA A10" """,
    )
    assert ask()["expected"] == 1


def test_no_descriptor_is_left(torch, ask):
    torch()
    before = len(list(Path("/proc/self/fd").iterdir()))
    ask()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
