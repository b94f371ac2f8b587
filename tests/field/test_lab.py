"""Reports about installers once more, planned on a node of the lab: here uv itself answers, by its own dry run."""

import pytest

from stackplan.connection.connect import connect
from stackplan.connection.options import ConnectOptions
from stackplan.engine.bind import bind
from stackplan.engine.consult import Survey
from stackplan.engine.plan import plan
from stackplan.engine.target import Target
from stackplan.lab.laboratory import running_lab
from stackplan.language import inventory, playbook
from stackplan.language.alone import render_alone
from stackplan.model.outcome import NodeOutcome, StepOutcome
from stackplan.model.secret import Redactor
from tests.engine.world import FakeClock

# By report: the steps, the step that is red, why, the kind of its condition, the code that says so.
RED = {
    1: (
        """
- id: torch
  python_packages: {venv: ~/ml-env, packages: [torch, torchvision, torchaudio], index_url: INDEX/whl/cu130/}
  postconditions:
    - torch: {venv: ~/ml-env, cuda: "13.0"}
""",
        ("torch", "no-op", "torch", None),
    ),
    7: (
        """
- id: torch
  python_packages: {venv: ~/ml-env, packages: [torch==2.11.0+cu130], index_url: INDEX/whl/cu130/}
  postconditions:
    - torch: {venv: ~/ml-env, cuda: "13.0"}
- id: app
  python_packages: {venv: ~/ml-env, packages: [lab-legacy-app, torch==2.11.0], index_url: INDEX/default/}
  postconditions:
    - package: {venv: ~/ml-env, name: lab-legacy-app}
""",
        ("app", "action", None, "SP208"),
    ),
    38: (
        """
- id: torch
  python_packages: {venv: ~/ml-env, packages: [torch], index_url: INDEX/whl/cu130/, upgrade: true}
  postconditions:
    - same_build: {venv: ~/ml-env, packages: [torch, torchvision], by: label}
    - torch: {venv: ~/ml-env, cuda: "13.0"}
""",
        ("torch", "postcondition", "same_build", None),
    ),
    58: (
        """
- id: torch
  python_packages:
    venv: ~/ml-env
    packages: [torch==2.11.0+cu130, torchvision==0.26.0+cu130, torchaudio==2.11.0+cu130]
    index_url: INDEX/whl/cu130/
  postconditions:
    - torch: {venv: ~/ml-env, version: ==2.11.0}
- id: app
  python_packages: {venv: ~/ml-env, packages: [lab-legacy-app], index_url: INDEX/default/}
  postconditions:
    - package: {venv: ~/ml-env, name: lab-legacy-app}
""",
        ("app", "regression", "torch", None),
    ),
    91: (
        """
- id: torch
  python_packages: {venv: ~/ml-env, packages: [torch], index_url: INDEX/default/, upgrade: true}
  postconditions:
    - torch: {venv: ~/ml-env, version: ">=2.10.1,<2.11"}
""",
        ("torch", "postcondition", "torch", None),
    ),
}
GREEN = """
- id: torch
  python_packages:
    venv: ~/ml-env
    packages: [torch==2.11.0+cu130, torchvision==0.26.0+cu130, torchaudio==2.11.0+cu130]
    index_url: INDEX/whl/cu130/
  postconditions:
    - torch: {venv: ~/ml-env, cuda: "13.0", version: ==2.11.0}
    - same_build: {venv: ~/ml-env, packages: [torch, torchvision, torchaudio], by: label}
"""


@pytest.fixture(scope="module")
def lab():
    with running_lab(1) as running:
        yield running


@pytest.fixture
def planned(lab, tmp_path):
    """Return what a plan says of the lab's node for these steps."""

    def build(steps):
        text = "stackplan: 1\nname: lab\nnodes: all\nsteps:\n" + steps.replace("INDEX", lab.index.url)
        path = tmp_path / "p.yaml"
        path.write_text(text, "utf-8")
        bound = bind(render_alone(playbook.read(path)).playbook)
        (node,) = inventory.read(lab.inventory).nodes.values()
        survey = Survey(redactor=Redactor(), clock=FakeClock(), audit=False)
        (report,) = plan([Target(node, bound)], lambda it: connect(it, ConnectOptions()), survey).nodes
        return report

    return build


@pytest.mark.parametrize("report", RED)
def test_the_plan_is_red(planned, report):
    steps, (red, reason, kind, code) = RED[report]
    node = planned(steps)
    assert (node.outcome, node.stopped_at) == (NodeOutcome.FAILED, red), node.message
    (step,) = [step for step in node.steps if step.id == red]
    assert (step.outcome, step.reason.value) == (StepOutcome.WOULD_FAIL, reason), step.message
    told = step.broke.conditions if step.broke else step.conditions
    assert kind is None or kind in {it.kind for it in told if (it.predicted or it.status).value == "not-held"}
    assert code is None or code in {it.code for it in step.diagnoses}


def test_the_plan_of_the_right_playbook_is_not(planned):
    node = planned(GREEN)
    assert node.outcome is NodeOutcome.PENDING, node.message
    assert [step.outcome for step in node.steps] == [StepOutcome.WOULD_CHANGE]
    assert {(it.name, it.after) for it in node.steps[0].predicted} >= {("torch", "2.11.0+cu130")}
