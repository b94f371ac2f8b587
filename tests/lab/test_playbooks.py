"""The playbooks that come with stackplan: valid, alike where they should be, and fit for the lab."""

import re
from pathlib import Path

import pytest
import yaml

from stackplan.lab.inventory import variables
from stackplan.lab.shipped import shipped_playbook

FOLDER = Path(__file__).parents[2] / "playbooks"
PLAYBOOKS = sorted(path for path in FOLDER.rglob("*.yaml") if path.name != "inventory.yaml")


def names(path):
    return str(path.relative_to(FOLDER))


@pytest.mark.parametrize("path", PLAYBOOKS, ids=names)
def test_a_playbook_is_read_without_a_diagnosis(path):
    from stackplan.language.playbook import read  # noqa: PLC0415 - jsonschema and jinja2 are slow to import

    assert read(path).steps


@pytest.mark.parametrize("path", PLAYBOOKS, ids=names)
def test_every_address_can_be_pointed_elsewhere(path):
    """A site with a mirror, and the lab, change vars, never steps."""
    document = yaml.safe_load(path.read_text())
    assert "://" not in yaml.safe_dump(document["steps"])


def test_the_example_inventory_is_read():
    from stackplan.language.inventory import read  # noqa: PLC0415 - jsonschema and jinja2 are slow to import

    assert set(read(FOLDER / "examples" / "inventory.yaml").groups["prod"]) == {"gpu-01", "gpu-02"}


def test_the_labs_vars_are_vars_of_the_shipped_playbooks():
    every = [yaml.safe_load(path.read_text())["vars"] for path in FOLDER.glob("*.yaml")]
    assert set(variables("http://127.0.0.1:1")) <= {name for found in every for name in found}
    addresses = {name for found in every for name, value in found.items() if str(value).startswith("https://")}
    assert addresses | {"toolkit_sha256", "app_index"} <= set(variables("http://127.0.0.1:1"))


def test_no_var_means_one_thing_in_one_playbook_and_another_in_the_next():
    """An inventory, the lab's like anybody's, sets a var for all playbooks: one for cu130 must not lead a way back."""
    found = {}
    for path in FOLDER.glob("*.yaml"):
        for name, value in yaml.safe_load(path.read_text())["vars"].items():
            if str(value).startswith("https://"):
                found.setdefault(name, {})[path.name] = re.findall(r"cu\d+", str(value))
    assert [name for name, builds in found.items() if len({*map(tuple, builds.values())}) > 1] == []


def test_the_runfile_is_named_after_the_toolkit_and_has_a_digest():
    document = yaml.safe_load((FOLDER / "cuda13-blackwell.yaml").read_text())
    (toolkit,) = [step for step in document["steps"] if step["id"] == "cuda-toolkit"]
    assert f"/cuda/{toolkit['cuda_toolkit']['version']}/" in document["vars"]["toolkit_url"]
    assert re.fullmatch(r"[0-9a-f]{64}", document["vars"]["toolkit_sha256"])


def test_the_faulty_example_differs_from_a_good_step_in_upgrade_alone():
    def torch_step(name):
        return yaml.safe_load((FOLDER / "examples" / name).read_text())["steps"][0]

    faulty, good = torch_step("torch-without-upgrade.yaml"), torch_step("torch-pulled-back.yaml")
    faulty["python_packages"]["upgrade"] = True
    assert faulty == good


def test_a_shipped_playbook_is_found_from_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert shipped_playbook("examples/torch-pulled-back.yaml").is_file()
    monkeypatch.chdir(FOLDER.parent)
    assert shipped_playbook("cuda13-blackwell.yaml") == Path("playbooks/cuda13-blackwell.yaml")
