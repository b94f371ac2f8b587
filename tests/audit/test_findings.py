"""From what a node tells to findings: each fault its own code, and silence about a healthy node."""

import pytest

from stackplan.audit.audit import audit, findings
from stackplan.audit.subject import subject
from stackplan.model.concern import Concern, Matter, environments, named
from stackplan.model.diagnosis import Severity
from stackplan.model.facts import Failed, Known, Unknown
from tests.audit.conftest import ENVIRONMENT, GIB, NVCC, UV, place

SCRIPT = Concern(Matter.SETTINGS, "uv")
TOOLKIT = Concern(Matter.TOOLKIT, "/usr/local/cuda-13.0", changed=True)


def variables(told, name, **values):
    """Set variables in one of the contexts."""
    next(it for it in told["contexts"] if it["name"] == name)["variables"].update(values)


def service(**values):
    return {"unit": "sglang.service", "active": True, "user": "ops", "variables": values}


def only(found, code):
    assert set(found) == {code}
    (finding,) = found[code]
    return finding


def test_a_healthy_node_is_not_spoken_of(told, looked):
    assert looked(told) == {}
    assert looked(told, ENVIRONMENT, UV, SCRIPT, TOOLKIT, NVCC) == {}


def test_what_a_script_obeys_is_a_warning_and_harmless_settings_are_not_named(told, looked):
    for context in told["contexts"]:
        context["variables"] |= {"UV_EXTRA_INDEX_URL": "https://cu128/", "UV_CACHE_DIR": "/c", "UV_HTTP_TIMEOUT": "9"}
    told["configuration"] = [
        {
            "tool": "uv",
            "path": "/etc/uv/uv.toml",
            "settings": ["cache-dir", "index.url", "pip.no-binary"],
            "fault": None,
        },
        {"tool": "pip", "path": "/etc/pip.conf", "settings": ["global.index-url"], "fault": None},
    ]
    finding = only(looked(told, ENVIRONMENT, UV, SCRIPT), "SP301")
    assert finding.severity is Severity.WARNING
    assert finding.observed == "UV_EXTRA_INDEX_URL=https://cu128/; /etc/uv/uv.toml (index.url, pip.no-binary)"
    assert looked(told) == {}, "the steps keep them out, and say so themselves"


def test_a_configuration_file_that_cannot_be_read(told, looked):
    told["configuration"] = [{"tool": "pip", "path": "/etc/pip.conf", "settings": [], "fault": "pip cannot read it"}]
    finding = only(looked(told, Concern(Matter.SETTINGS, "pip")), "SP301")
    assert finding.observed == "/etc/pip.conf: pip cannot read it"


def test_a_setting_of_a_login_shell_alone(told, looked):
    for name in ("login", "interactive"):
        variables(told, name, UV_INDEX="https://cu128/", UV_NO_PROGRESS="1")
    told["services"] = [service(PIP_CONSTRAINT="/srv/pins.txt")]
    found = looked(told)
    of_uv, of_pip = found["SP302"]
    assert of_uv.summary == (
        "uv obeys settings in a login shell that the steps do not have, and may install something else there"
    )
    assert of_pip.remedy.startswith("Remove PIP_CONSTRAINT there. The steps are not affected")
    assert [it.observed for it in found.pop("SP302")] == [
        "UV_INDEX=https://cu128/ in a login shell",
        "PIP_CONSTRAINT=/srv/pins.txt in sglang.service",
    ]
    assert found == {}


@pytest.mark.parametrize(
    ("step", "login", "severity"),
    [
        ("/usr/bin/nvcc", "/usr/local/cuda-12.8/bin/nvcc", Severity.NOTE),
        (None, "/usr/local/cuda-13.0/bin/nvcc", Severity.WARNING),
        ("/usr/bin/nvcc", None, None),
        (None, None, None),
    ],
)
def test_a_program_that_shells_find_elsewhere(told, looked, step, login, severity):
    found = {"step": step, "login": login, "interactive": login}
    told["contexts"] = [place(name, programs={"nvcc": it}) for name, it in found.items()]
    if severity is None:
        assert looked(told, NVCC) == {}
        return
    finding = only(looked(told, NVCC), "SP304")
    assert finding.severity is severity
    assert finding.observed == f"the steps: {step or 'none'}; a login shell: {login}"


def test_what_sudo_lacks_is_told_where_a_script_uses_it(told, looked):
    told["contexts"] = [place("step", programs={"nvcc": "/opt/nvcc"}), place("sudo", programs={"nvcc": None})]
    finding = only(looked(told, NVCC, Concern(Matter.PROGRAM, "sudo")), "SP304")
    assert finding.observed == "the steps: /opt/nvcc; sudo: none"


def test_cuda_home_that_leads_nowhere_elsewhere_or_differs(told, looked):
    told["toolkits"] = {"/usr/local/cuda": "/usr/local/cuda-12.8", "/gone": None, "/t": "/usr/local/cuda-13.0"}
    variables(told, "interactive", CUDA_HOME="/usr/local/cuda")
    differs = only(looked(told), "SP305")
    assert (differs.severity, "not the same everywhere" in differs.summary) == (Severity.NOTE, True)
    assert (
        differs.observed == "the steps, a login shell: not set; an interactive login shell: CUDA_HOME=/usr/local/cuda"
    )
    stray = only(looked(told, ENVIRONMENT, TOOLKIT), "SP305")
    assert stray.summary == "CUDA_HOME leads to /usr/local/cuda, and the playbook is about /usr/local/cuda-13.0"
    for name in ("step", "login", "interactive"):
        variables(told, name, CUDA_HOME="/t")
    assert looked(told, ENVIRONMENT, TOOLKIT) == {}, "a link to the toolkit that is meant"
    variables(told, "login", CUDA_HOME="/gone")
    assert only(looked(told), "SP305").summary == "CUDA_HOME leads to /gone, where there is no nvcc"


def test_cuda_home_and_nvcc_of_two_toolkits(told, looked):
    told["toolkits"] = {"/usr/local/cuda": "/usr/local/cuda-12.8"}
    nvcc = {"nvcc": "/usr/local/cuda-13.0/bin/nvcc"}
    told["contexts"] = [place(it, {"CUDA_HOME": "/usr/local/cuda"}, nvcc) for it in ("step", "login", "interactive")]
    finding = only(looked(told, ENVIRONMENT, NVCC), "SP305")
    assert finding.summary.endswith("two toolkits: /usr/local/cuda and /usr/local/cuda-13.0/bin/nvcc")


def test_libraries_that_come_first(told, looked):
    told["libraries"] = {"/usr/local/cuda-12.1/lib64": ["libnvJitLink.so.12"]}
    told["services"] = [service(LD_LIBRARY_PATH="/usr/local/cuda-12.1/lib64:", LD_PRELOAD="/x.so")]
    found = looked(told)
    first, empty = found.pop("SP306")
    assert first.observed == "/usr/local/cuda-12.1/lib64: libnvJitLink.so.12"
    assert "sglang.service" in first.summary
    assert "empty part" in empty.summary
    assert found.pop("SP307")[0].observed == "/x.so"
    assert found == {}


def test_the_libraries_of_the_playbooks_own_toolkit_are_a_note(told, looked):
    told["libraries"] = {"/usr/local/cuda-13.0/lib64": ["libcudart.so.13"]}
    told["services"] = [service(LD_LIBRARY_PATH="/usr/local/cuda-13.0/lib64")]
    assert only(looked(told, ENVIRONMENT, TOOLKIT), "SP306").severity is Severity.NOTE
    assert only(looked(told), "SP306").severity is Severity.WARNING


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"foreign": [{"file": "x.pth", "folder": "/src"}]}, "SP308", "folders outside"),
        ({"customized": ["/e/sitecustomize.py"]}, "SP308", "whenever its Python starts"),
        ({"system_packages": True}, "SP309", "sees the packages of the Python"),
        ({"conda": True}, "SP309", "environment of conda"),
        ({"project": {"folder": "/srv/app", "lock": True}}, "SP311", "belongs to the uv project /srv/app"),
        ({"project_environment": True}, "SP311", "every uv project"),
        ({"owner": "root"}, "SP312", "belongs to root, who cannot change what ops writes"),
        ({"namesakes": ["/opt/ml-env"]}, "SP315", "more than one environment of this name"),
    ],
)
def test_what_is_odd_about_an_environment(told, looked, change, code, words):
    told["environments"][0] |= change
    assert words in only(looked(told), code).summary


def test_room_and_filesystems(told, looked):
    told["space"][0] |= {"free_bytes": GIB, "filesystem": 1}
    found = looked(told)
    assert found.pop("SP313")[0].observed == "the environment (/home/ops/environment): 1.0 GiB free"
    assert "take room twice" in found.pop("SP314")[0].summary
    assert found == {}


def test_who_runs_from_an_environment_and_that_matters_to_a_change_alone(told, looked):
    row = {"venv": "~/ml-env", "name": "python3", "user": "ops", "unit": "sglang.service", "count": 3}
    told["processes"] = [row]
    assert only(looked(told), "SP316").observed == "3 times python3 of ops (sglang.service)"
    told["environments"][0] |= {"owner": "root", "project_environment": True}
    resting = subject(None, (ENVIRONMENT, UV)).at_rest
    assert audit(resting, Known(told)) == ()
    assert resting.query == subject(None, (ENVIRONMENT, UV)).query


def test_variables_of_the_stack(told, looked):
    told["services"] = [service(FLASHINFER_DISABLE_VERSION_CHECK="1", TRITON_CACHE_DIR="/var/cache/triton")]
    found = looked(told)
    assert "hides in sglang.service" in found.pop("SP317")[0].summary
    (differs,) = found.pop("SP318")
    assert "TRITON_CACHE_DIR" in differs.summary
    assert "a step's `env` reaches its command and none of its conditions" in differs.remedy
    assert found == {}
    told["services"] = [service(FLASHINFER_DISABLE_VERSION_CHECK="0")]
    assert looked(told) == {}


def test_another_environment_is_active(told, looked):
    for name in ("login", "interactive"):
        variables(told, name, CONDA_PREFIX="/opt/conda", VIRTUAL_ENV="/home/ops/ml-env")
    assert only(looked(told), "SP310").observed == "CONDA_PREFIX=/opt/conda"


def test_profiles_that_hang_or_print(told, looked):
    told["contexts"][1:] = [place(it, fault="it did not end within 5 s") for it in ("login", "interactive")]
    finding = only(looked(told), "SP319")
    expected = "what a login shell of ops (/bin/bash) finds and sets is unknown: it did not end within 5 s"
    assert finding.summary == expected
    told["contexts"][1:] = [place("login", noisy=True), place("interactive", noisy=True)]
    note = only(looked(told), "SP319")
    assert note.severity is Severity.NOTE
    assert note.summary == "the profile of ops prints text in a login shell that has no terminal"


def test_proxies_that_only_a_login_shell_has(told, looked):
    variables(told, "interactive", HTTPS_PROXY="http://proxy:3128")
    expected = "the steps, a login shell: not set; an interactive login shell: http://proxy:3128"
    assert only(looked(told), "SP320").observed == expected


@pytest.mark.parametrize(
    "answer",
    [Unknown("why not"), Failed("why not", ""), Known({}), Known(None), Known({"contexts": 3}), Known([])],
)
def test_what_could_not_be_asked_or_read_is_said(answer):
    (note,) = audit(subject(None, (ENVIRONMENT,)), answer)
    assert (note.code, note.severity) == ("SP300", Severity.NOTE)


def test_every_module_is_a_finding():
    assert len(findings()) >= 15
    assert len(set(findings())) == len(findings())


def test_what_a_script_names():
    assert named("/usr/bin/uv sync; ./pip; grep nvcc-x") == ()
    assert named("sudo nvcc && uv  pip install x") == (
        Concern(Matter.PROGRAM, "sudo"),
        Concern(Matter.PROGRAM, "nvcc"),
        Concern(Matter.PROGRAM, "uv"),
        Concern(Matter.SETTINGS, "uv"),
    )
    assert named("pip3 install x") == (Concern(Matter.PROGRAM, "pip3"), Concern(Matter.SETTINGS, "pip"))


def test_a_question_about_an_environment_is_a_concern():
    assert environments([{"venv": "~/a"}, {"python": "/p"}, {"venv": "~/a"}]) == (Concern(Matter.ENVIRONMENT, "~/a"),)
    assert subject(None, ()) is None


def test_sudo_is_asked_only_where_a_script_uses_it():
    assert subject("root", (UV,)).query.arguments["sudo"] is False
    assert subject("root", (UV, Concern(Matter.PROGRAM, "sudo"))).query.arguments == {
        "venvs": (),
        "programs": ("uv",),
        "sudo": True,
    }
