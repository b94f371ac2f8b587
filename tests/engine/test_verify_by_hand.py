"""`verify` of an environment that a playbook had upgraded and in which somebody changed something by hand since."""

import pytest

from stackplan.engine.bind import bind
from stackplan.engine.consult import Survey
from stackplan.engine.target import Target
from stackplan.engine.verify import verify
from stackplan.language import playbook
from stackplan.language.alone import render_alone
from stackplan.model.node import Node, NodeName
from stackplan.model.secret import Redactor
from tests.engine.world import FakeClock
from tests.field.node import HEAD, ToldNode

TEXT = """\
stackplan: 1
name: stack
nodes: gpu-01
steps:
  - id: torch
    python_packages: {{venv: ~/ml-env, packages: [{torch}], index_url: "https://download.pytorch.org/whl/cu130"{more}}}
    postconditions:
      - torch: {{venv: ~/ml-env, cuda: 13.0}}
  - id: kernel
    python_packages:
      venv: ~/ml-env
      packages: [{kernel}]
      index_url: https://sgl-project.github.io/whl/cu130/
      no_deps: true
    postconditions:
      - python_import: {{venv: ~/ml-env, modules: [sgl_kernel]}}
      - cuda_coherent: {{venv: ~/ml-env, cuda: 13.0}}
"""
NVRTC = "ImportError: libnvrtc.so.13: cannot open shared object file: No such file or directory"
SITE = HEAD["site_packages"][0]


def need(library, folder, missing=0):
    found = [] if folder is None else [f"{SITE}/{folder}/{library}"]
    return {"library": library, "loaded": 1, "idle": 0, "missing": missing, "first": ["ops.abi3.so"], "found": found}


def speaker(name, version, *needs):
    return {"name": name, "version": version, "folder": f"{name}.dist-info", "needs": list(needs), "provides": [],
            "overwritten": []}  # fmt: skip


def libraries(*speakers):
    told = {**HEAD, "library_path": "", "files": 9, "distributions": list(speakers), "unreadable": [], "unseen": []}
    return {"kind": "cuda_libraries", "arguments": {"venv": "~/ml-env"}, "known": told}


OLD_TORCH = speaker("torch", "2.9.1+cu128", need("libcudart.so.12", "nvidia/cuda_runtime/lib"))
NEW_TORCH = speaker("torch", "2.11.0+cu130", need("libcudart.so.13", "nvidia/cu13/lib"))
KERNEL = speaker("sgl-kernel", "0.3.21+cu130", need("libnvrtc.so.13", "nvidia/cu13/lib"))


@pytest.fixture
def look(tmp_path):
    """Return the report of a `verify` of the two steps, of a node that tells this."""

    def build(packages, *answers, imports=None, torch="torch==2.11.0", kernel="sgl-kernel==0.3.21+cu130", more=""):
        path = tmp_path / "my stack.yaml"
        path.write_text(TEXT.format(torch=torch, kernel=kernel, more=more), "utf-8")
        rendering = render_alone(playbook.read(path))
        node = ToldNode({"packages": packages, "imports": {"sgl_kernel": imports}, "answers": answers}, tmp_path)
        target = Target(Node(name=NodeName("gpu-01")), bind(rendering.playbook))
        survey = Survey(redactor=Redactor(), clock=FakeClock())
        (report,) = verify([target], lambda _: node, survey).nodes
        return report, f"`stackplan apply '{path}'`, for these nodes and variables, puts ~/ml-env right: "

    return build


def told(report):
    """Return the findings of a report: step, code, remedy, and whether a place in the playbook is named."""
    return [(step.id, it.code, it.remedy, it.remedy_at is not None) for step in report.steps for it in step.diagnoses]


AT_WORK = {"torch": "2.11.0+cu130", "sgl-kernel": "0.3.21+cu130"}
PUT_BACK = {**AT_WORK, "torch": "2.9.1+cu128"}


def test_an_old_torch_that_somebody_put_back_is_for_apply_to_mend(look):
    report, back = look(PUT_BACK, libraries(OLD_TORCH, KERNEL), imports=NVRTC)
    remedy = f"{back}step `torch` wants torch==2.11.0, and 2.9.1+cu128 is there."
    assert told(report) == [("kernel", "SP251", remedy, False)]
    (finding,) = report.steps[1].diagnoses
    assert finding.summary == (
        "sgl-kernel needs libnvrtc.so.13 of CUDA 13. The file lies in nvidia/cu13/lib, where the loader does not look "
        "for it."
    )


def test_the_playbook_as_it_stands_has_nothing_to_mend_where_all_holds(look):
    report, _ = look(AT_WORK, libraries(NEW_TORCH, KERNEL))
    assert [step.outcome.value for step in report.steps] == ["held", "held"]
    assert told(report) == []


def test_kernels_that_somebody_put_back_are_for_apply_to_mend(look):
    """torch is right: that the pin is not met is what sets it apart from a playbook that names the wrong build."""
    old = speaker("sgl-kernel", "0.3.21", need("libcudart.so.12", "nvidia/cuda_runtime/lib"))
    report, back = look({**AT_WORK, "sgl-kernel": "0.3.21"}, libraries(NEW_TORCH, old))
    remedy = f"{back}step `kernel` wants sgl-kernel==0.3.21+cu130, and 0.3.21 is there."
    assert told(report) == [("kernel", "SP251", remedy, False)]


def test_what_the_playbook_itself_asks_for_is_mended_by_an_edit(look):
    """The same node, and a playbook that is content with it: another `apply` would do nothing."""
    old = speaker("sgl-kernel", "0.3.21", need("libcudart.so.12", "nvidia/cuda_runtime/lib"))
    report, _ = look({**AT_WORK, "sgl-kernel": "0.3.21"}, libraries(NEW_TORCH, old), kernel="sgl-kernel==0.3.21")
    remedy = (
        "Pin the build for this environment's CUDA sgl-kernel==VERSION+cu130 at 12:17, from an index that offers it."
    )
    assert told(report) == [("kernel", "SP251", remedy, True)]


def test_a_torch_that_satisfies_its_requirement_is_left_alone_by_apply(look):
    report, _ = look(PUT_BACK, libraries(OLD_TORCH, KERNEL), imports=NVRTC, torch="torch")
    assert [(step, code, "stackplan apply" in remedy) for step, code, remedy, _ in told(report)] == [
        ("kernel", "SP251", False)
    ]


@pytest.mark.parametrize(
    ("more", "verb"), [(", upgrade: true", "upgraded"), (", reinstall: [torch]", "installed anew")]
)
def test_an_upgrade_looks_anew_for_what_does_not_hold(look, more, verb):
    report, back = look(PUT_BACK, libraries(OLD_TORCH, KERNEL), imports=NVRTC, torch="torch", more=more)
    remedy = f"{back}step `torch` wants torch {verb}, and 2.9.1+cu128 is there."
    assert told(report) == [("kernel", "SP251", remedy, False)]


def test_a_wheel_of_the_old_cuda_that_came_back_is_for_apply_to_remove(look):
    packages = {**PUT_BACK, "nvidia-nccl-cu12": "2.27.5"}
    more = ", remove: [nvidia-nccl-cu12]"
    report, back = look(packages, libraries(OLD_TORCH, KERNEL), imports=NVRTC, torch="torch", more=more)
    remedy = f"{back}step `torch` wants no nvidia-nccl-cu12, and 2.27.5 is there."
    assert told(report) == [("kernel", "SP251", remedy, False)]


def test_a_torch_that_is_gone_is_for_apply_to_bring(look):
    report, back = look({"sgl-kernel": "0.3.21+cu130"}, libraries(KERNEL), imports=NVRTC)
    remedy = f"{back}step `torch` wants torch==2.11.0, and it is not there."
    assert told(report) == [("kernel", "SP251", remedy, False)]


def test_what_is_lacking_of_something_else_explains_no_library(look):
    old = speaker("sgl-kernel", "0.3.21", need("libcudart.so.12", "nvidia/cuda_runtime/lib"))
    packages = {**AT_WORK, "sgl-kernel": "0.3.21"}
    report, _ = look(packages, libraries(NEW_TORCH, old), kernel="sgl-kernel==0.3.21, ninja")
    assert [remedy.startswith("Pin the build") for _, _, remedy, _ in told(report)] == [True]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("ImportError: sgl_kernel/ops.so: undefined symbol: _ZN3c104cuda9SetDeviceEi", "SP252"),
        ("CUDA error: no kernel image is available for execution on the device", "SP253"),
        ("RuntimeError: The NVIDIA driver on your system is too old (found version 12080).", "SP255"),
    ],
)
def test_whatever_does_not_load_beside_an_old_torch_is_for_apply_to_mend(look, error, code):
    report, back = look(PUT_BACK, libraries(OLD_TORCH, KERNEL), imports=error)
    remedy = f"{back}step `torch` wants torch==2.11.0, and 2.9.1+cu128 is there."
    assert ("kernel", code, remedy, False) in told(report)
