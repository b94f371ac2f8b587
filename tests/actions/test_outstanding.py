"""What another run of a step would bring, and what is said of a library then: no edit of the playbook."""

from dataclasses import replace

import pytest

from stackplan.actions.python_packages import KIND
from stackplan.model.kind import Outstanding
from stackplan.model.outcome import Reason
from stackplan.model.verdict import not_held
from tests.engine.world import playbook, step

INDEX = "https://download.pytorch.org/whl/cu130"
TORCH = ("torch", "2.11.0+cu130")
KERNEL = ("sgl-kernel", "0.3.21")
NVRTC = "ImportError: libnvrtc.so.12: cannot open shared object file: No such file or directory"


@pytest.fixture
def state(arguments, evidence):
    """Return the remedy of what `verify` says of the kernel, where this is lacking of the steps up to it."""

    def build(*lacking, selected_by=None):
        read = arguments(venv="~/ml-env", packages=["sgl-kernel"], index_url=INDEX)
        unmet = (not_held("import sgl_kernel", expected="it imports", observed=NVRTC),)
        told = evidence(read, [TORCH, KERNEL], reason=Reason.POSTCONDITION, unmet=unmet)
        kind = KIND.read(read)
        (diagnosis,) = kind.diagnose_state(
            replace(told, playbook=replace(playbook(step("torch")), selected_by=selected_by), outstanding=lacking)
        )
        return diagnosis.remedy

    return build


def lacking(place="/home/ops/ml-env", **things):
    return Outstanding(step="first", place=place, things={name.replace("_", "-"): it for name, it in things.items()})


def test_what_is_lacking_of_another_environment_explains_nothing_here(state):
    wanted = "torch==2.11.0, and 2.9.1 is there"
    assert state(lacking("/home/ops/other", torch=wanted)).startswith("Pin the build")
    back = (
        "`stackplan apply playbook.yaml`, for these nodes and variables, puts ~/ml-env right: "
        "step `first` wants torch==2.11.0, and 2.9.1 is there."
    )
    assert state(lacking("/home/ops/other", torch="nothing"), lacking(torch=wanted)) == back


@pytest.mark.parametrize("options", ["", " -i 'my nodes.yaml' -l gpu-01 --var hf_token=…"])
def test_the_command_is_written_out_where_it_is_known_how_the_nodes_were_selected(state, options):
    wanted = lacking(torch="torch==2.11.0, and 2.9.1 is there")
    assert state(wanted, selected_by=options).startswith(
        f"`stackplan apply playbook.yaml{options}` puts ~/ml-env right: step `first` wants torch"
    )


@pytest.mark.parametrize(
    ("name", "explains"), [("torch", True), ("sgl_kernel", True), ("nvidia_cublas", True), ("torchvision", False)]
)
def test_what_is_lacking_explains_a_library_only_where_it_has_to_do_with_it(state, name, explains):
    assert state(lacking(**{name: "it, and it is not there"})).startswith("`stackplan apply") == explains


def asked_again(arguments, evidence, installed, *, text="import sgl_kernel", **values):
    """Return what another run of a step would bring, by name."""
    read = arguments(venv="~/ml-env", **values)
    unmet = (not_held(text, expected="it", observed="something else"),)
    told = evidence(read, installed, reason=Reason.POSTCONDITION, unmet=unmet)
    found = KIND.read(read).outstanding(told)
    return {} if found is None else dict(found.things)


def test_what_another_run_would_bring(arguments, evidence, secret):
    def found(*packages, **more):
        return asked_again(arguments, evidence, [TORCH], **({"packages": packages} if packages else {}), **more)

    assert found("torch", "torch>=2.10", f"torch=={TORCH[1]}") == {}
    assert found("Torch==2.10.*") == {"torch": f"Torch==2.10.*, and {TORCH[1]} is there"}
    assert found("sgl_kernel; python_version < '3'") == {}
    assert found("torch @ https://e.example/torch.whl", "./k.whl") == {}
    assert found(requirements=["sgl-kernel==0.3.21", "./k.whl"]) == {
        "sgl-kernel": "sgl-kernel==0.3.21, and it is not there"
    }
    assert found(requirements="~/requirements.txt") == {}
    assert found("numpy", constraints=["torch==2.9.1"]) == {"numpy": "numpy, and it is not there"}
    hidden = type(secret)("sgl-kernel @ https://me:hunter2-hunter2@e.example/k.whl")
    assert found(hidden) == {"sgl-kernel": "***, and it is not there"}
    assert found("torch", upgrade=True) == {}
    about = {"text": "torch built for CUDA 12.8", "upgrade": True}
    assert found("torch", **about) == {"torch": f"torch upgraded, and {TORCH[1]} is there"}
    assert found("torch", text="torchvision 0.25", upgrade=True) == {}
    assert found("torch", text="torch-tensorrt 2", upgrade=True) == {}


def test_an_environment_that_was_not_asked_lacks_nothing(arguments, evidence):
    read = arguments(venv="~/ml-env", packages=["torch==2.10"])
    told = evidence(read, [TORCH], reason=Reason.POSTCONDITION)
    assert KIND.read(read).outstanding(told) is not None
    assert KIND.read(read).outstanding(replace(told, after=replace(told.after, answers={}))) is None
