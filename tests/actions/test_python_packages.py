"""`python_packages`: what is refused, and the command lines of uv and pip."""

import pytest

from stackplan.actions.python_packages import KIND
from stackplan.model.diagnosis import Invalid, Severity
from stackplan.model.facts import Failed, Query
from stackplan.model.job import Command, Task
from stackplan.model.kind import CannotAct
from stackplan.model.secret import Secret

CU130 = "https://download.pytorch.org/whl/nightly/cu130"
TORCH = ("torch", "2.10.0+cu128")
PYTHON = "/home/ops/ml-env/bin/python"


@pytest.fixture
def job(arguments, environment_facts):
    """Return the job of the arguments on a node."""

    def build(values, **node):
        kind = KIND.read(arguments(venv="~/ml-env", **values))
        create = values.get("create")
        python = None if create is None else create.get("python") or "python3"
        return kind.job(environment_facts(TORCH, asked_python=python, **node))

    return build


UV_LINES = [
    ({"packages": ["torch", "torchvision"]}, ["torch", "torchvision"]),
    ({"packages": ["torch"], "index_url": CU130, "upgrade": True}, ["torch", "--upgrade", "--index-url", CU130]),
    ({"packages": ["torch"], "upgrade": "true"}, ["torch", "--upgrade"]),
    ({"packages": ["a", "b"], "upgrade": ["B"]}, ["a", "b", "--upgrade-package", "b"]),
    ({"packages": ["a"], "reinstall": ["A"]}, ["a", "--reinstall-package", "a"]),
    ({"packages": ["a"], "reinstall": True}, ["a", "--reinstall"]),
    ({"packages": ["a"], "no_deps": True, "prerelease": "allow"}, ["a", "--no-deps", "--prerelease", "allow"]),
    ({"packages": ["a"], "only_binary": True}, ["a", "--only-binary", ":all:"]),
    ({"packages": ["a"], "only_binary": ["flash-attn"]}, ["a", "--only-binary", "flash-attn"]),
    ({"packages": ["a"], "torch_backend": "cu130"}, ["a", "--torch-backend", "cu130"]),
    ({"packages": ["a"], "index_strategy": "unsafe-best-match"}, ["a", "--index-strategy", "unsafe-best-match"]),
    ({"packages": ["a"], "extra_index_urls": [CU130]}, ["a", "--extra-index-url", CU130]),
    ({"packages": ["a"], "find_links": ["~/wheels"]}, ["a", "--find-links", "/home/ops/wheels"]),
    ({"packages": ["~/a-1-py3-none-any.whl"]}, ["/home/ops/a-1-py3-none-any.whl"]),
    ({"requirements": "~/r.txt"}, ["-r", "/home/ops/r.txt"]),
    ({"packages": ["a"], "constraints": "/c.txt"}, ["a", "--constraints", "/c.txt"]),
    ({"packages": ["a"], "overrides": "/o.txt"}, ["a", "--overrides", "/o.txt"]),
]


@pytest.mark.parametrize(("values", "line"), UV_LINES)
def test_uv_line(job, values, line):
    (stage,) = job(values).stages
    assert stage.argv == ("/home/ops/.local/bin/uv", "pip", "install", *line, "--python", PYTHON)
    assert stage.drop_environment == ("UV_*", "PIP_*", "PYTHONPATH", "PYTHONHOME")
    assert stage.environment["UV_NO_CONFIG"] == "1"
    assert stage.display.startswith("uv pip install ")
    assert stage.display.endswith("--python ~/ml-env/bin/python") or stage.display.endswith("'~/ml-env/bin/python'")


PIP_LINES = [
    ({"packages": ["torch"], "index_url": CU130, "upgrade": True}, ["torch", "--upgrade", "--index-url", CU130]),
    ({"packages": ["a"], "reinstall": ["a"]}, ["a", "--force-reinstall"]),
    ({"packages": ["a"], "no_deps": True, "prerelease": "allow"}, ["a", "--pre", "--no-deps"]),
    ({"packages": ["a"], "constraints": "/c.txt"}, ["a", "-c", "/c.txt"]),
    ({"packages": ["a"], "find_links": ["~/wheels"]}, ["a", "--find-links", "/home/ops/wheels"]),
    ({"packages": ["a"], "extra_index_urls": [CU130]}, ["a", "--extra-index-url", CU130]),
    ({"packages": ["a"], "only_binary": True}, ["a", "--only-binary", ":all:"]),
]


@pytest.mark.parametrize(("values", "line"), PIP_LINES)
def test_pip_line(job, values, line):
    (stage,) = job(values, uv=None).stages
    assert stage.argv == (PYTHON, "-m", "pip", "install", *line)
    assert stage.environment["PIP_CONFIG_FILE"] == "/dev/null"
    assert stage.drop_environment == ("UV_*", "PIP_*", "PYTHONPATH", "PYTHONHOME")


def test_pip_is_taken_when_it_is_stated_although_uv_is_there(job):
    (stage,) = job({"packages": ["a"], "installer": "pip"}).stages
    assert stage.argv[:3] == (PYTHON, "-m", "pip")


def test_what_is_removed_goes_before_what_is_installed(job):
    first, second = job({"packages": ["sglang-kernel"], "remove": ["SGL_kernel"]}).stages
    assert first.argv[1:4] == ("pip", "uninstall", "sgl-kernel")
    assert second.argv[1:4] == ("pip", "install", "sglang-kernel")
    first, _ = job({"packages": ["sglang-kernel"], "remove": ["sgl-kernel"]}, uv=None).stages
    assert first.argv[2:] == ("pip", "uninstall", "--yes", "sgl-kernel")


def test_node_settings_are_let_in_only_when_the_step_says_so(job):
    (stage,) = job({"packages": ["a"], "inherit_config": True}).stages
    assert stage.drop_environment == ()
    assert "UV_NO_CONFIG" not in stage.environment
    (stage,) = job({"packages": ["a"], "inherit_config": True, "index_url": CU130}).stages
    assert stage.drop_environment == ("UV_INDEX_URL", "UV_DEFAULT_INDEX")


# ---- secrets


@pytest.mark.parametrize("uv", [True, False])
@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ({"index_url": "https://ops:hunter2@pypi.example/simple"}, "--index-url https://***@pypi.example/simple"),
        ({"index_url": Secret("https://ops:hunter2@pypi.example/simple")}, "--index-url ***"),
        (
            {"extra_index_urls": [CU130, "https://hunter2@a.example/"]},
            f"--extra-index-url {CU130} --extra-index-url https://***@a.example/",
        ),
        ({"find_links": [Secret("https://hunter2.example/")]}, "--find-links ***"),
        (
            {"packages": ["a @ https://u:hunter2@b.example/a-1-py3-none-any.whl"]},
            "-r a @ https://***@b.example/a-1-py3-none-any.whl",
        ),
        ({"constraints": [Secret("b @ https://u:hunter2@b.example/b.whl")]}, "(1 line)"),
    ],
)
def test_a_secret_reaches_neither_argv_nor_display(job, values, shown, uv):
    made = job({"packages": ["a"], **values}, **({} if uv else {"uv": None}))
    (stage,) = made.stages
    assert shown in made.display
    assert "hunter2" not in made.display
    if isinstance(stage, Command):
        assert "hunter2" not in " ".join(stage.argv)
        told = [value.reveal() for value in stage.environment.values() if isinstance(value, Secret)]
    else:
        texts = [word["file"] for word in stage.arguments["argv"] if not isinstance(word, str)]
        assert "hunter2" not in " ".join(word for word in stage.arguments["argv"] if isinstance(word, str))
        told = [text.reveal() for text in texts if isinstance(text, Secret)]
    assert any("hunter2" in text for text in told), "the installer has to be told after all"


def test_all_extra_indexes_go_through_the_environment_in_their_order_when_one_is_secret(job):
    (stage,) = job({"packages": ["a"], "extra_index_urls": [CU130, Secret("https://b.example/")]}).stages
    assert stage.environment["UV_EXTRA_INDEX_URL"] == Secret(f"{CU130} https://b.example/")
    assert "--extra-index-url" not in stage.argv


def test_lines_of_the_playbook_are_given_as_a_file_in_memory(job):
    (stage,) = job({"packages": ["a"], "constraints": ["torch==2.11.0+cu130", "numpy<3"]}).stages
    assert isinstance(stage, Task)
    assert stage.kind == "program"
    place = stage.arguments["argv"].index("--constraints")
    assert stage.arguments["argv"][place + 1] == {"file": "torch==2.11.0+cu130\nnumpy<3\n"}
    assert "--constraints (2 lines)" in stage.display


# ---- making an environment


def test_uv_makes_the_environment_first(job):
    made, installed = job({"packages": ["a"], "create": {"python": "3.12"}}, kind="missing", interpreter=None).stages
    assert made.argv == ("/home/ops/.local/bin/uv", "venv", "--python", "3.12", "/home/ops/ml-env")
    assert installed.argv[-2:] == ("--python", PYTHON)


def test_python_makes_the_environment_where_there_is_no_uv(job):
    python = {"path": "/usr/bin/python3.12", "version": "3.12.3", "venv": True}
    values = {"packages": ["a"], "create": {"python": "3.12"}}
    made, installed = job(values, kind="empty", interpreter=None, uv=None, pip=None, python=python).stages
    assert made.argv == ("/usr/bin/python3.12", "-m", "venv", "/home/ops/ml-env")
    assert installed.argv[:3] == (PYTHON, "-m", "pip")


def test_an_environment_that_is_there_is_not_made_anew(job):
    (stage,) = job({"packages": ["a"], "create": {"python": "3.12"}}).stages
    assert stage.argv[1:3] == ("pip", "install")


# ---- what a node cannot do


UNABLE = [
    (
        {},
        {"kind": "missing", "interpreter": None},
        "there is nothing at ~/ml-env, where a virtual environment should be",
        'Correct `venv`, or add `create: {python: "3.12"}` at 37:7 to have it made.',
    ),
    (
        {},
        {"kind": "folder", "interpreter": None},
        "~/ml-env is a folder, but no virtual environment: it has no pyvenv.cfg",
        "Name an environment's folder in `venv` at 37:7.",
    ),
    (
        {},
        {"kind": "other", "interpreter": None},
        "~/ml-env is no folder",
        "Name an environment's folder in `venv` at 37:7.",
    ),
    ({}, {"interpreter": None}, "~/ml-env/bin/python leads nowhere", "Its Python was removed or moved"),
    (
        {},
        {"obstacle": {"path": "/home/ops/ml-env/lib", "owner": "root"}},
        "ops may not write /home/ops/ml-env/lib, which belongs to root",
        "Add `user: root` to the step.",
    ),
    ({}, {"uv": None, "pip": None}, "there is no uv, and no pip in ~/ml-env", "Install uv for ops on the node, or run"),
    ({"installer": "uv"}, {"uv": None}, "there is no uv on the PATH of ops", "or write `installer: pip` at 39:7."),
    ({"installer": "pip"}, {"pip": None}, "there is no pip in ~/ml-env", "Install uv for ops on the node, or run"),
    (
        {"torch_backend": "cu130"},
        {"uv": None},
        "the node has pip but no uv, and `torch_backend` needs uv",
        "or remove `torch_backend` at 39:7.",
    ),
    (
        {"upgrade": ["b"]},
        {"uv": None},
        "pip can upgrade only all packages of the action together",
        "or remove `upgrade` at 39:7.",
    ),
    (
        {"create": {}},
        {"kind": "missing", "parent": {"path": "/srv", "owner": "root", "writable": False}},
        "ops may not write /srv, which belongs to root",
        "Add `user: root` to the step.",
    ),
    (
        {"create": {"python": "3.12"}},
        {"kind": "missing", "uv": None, "pip": None},
        "there is no uv, and no Python that makes environments (3.12)",
        "or Python's venv module",
    ),
]


@pytest.mark.parametrize(("values", "node", "summary", "remedy"), UNABLE)
def test_a_node_that_cannot_do_it(job, values, node, summary, remedy):
    refused = job({"packages": ["a"], **values}, **node)
    assert isinstance(refused, CannotAct)
    assert summary in refused.summary
    assert remedy in refused.remedy


def test_what_could_not_be_found_out_is_no_absence(arguments, facts):
    query = Query("installer", {"venv": "~/ml-env", "python": None})
    refused = KIND.read(arguments(venv="~/ml-env", packages=["a"])).job(facts({query: Failed("uv --version hung")}))
    assert isinstance(refused, CannotAct)
    assert "uv --version hung" in refused.summary


# ---- what is refused when it is read


REFUSED = [
    ({}, "installs and removes nothing", None),
    ({"packages": []}, "installs and removes nothing", None),
    (
        {"packages": ["--index-url=https://evil.example"]},
        "may not begin with `-`",
        "write `index_url: …` on the action",
    ),
    ({"packages": ["-U"]}, "may not begin with `-`", "write `upgrade: true` on the action"),
    ({"packages": ["torch\n--index-url https://evil.example"]}, "line break", "write one requirement an item"),
    ({"packages": [""]}, "empty requirement", "remove it"),
    ({"packages": ["torch=2.10"]}, "not a requirement", "write torch==2.10"),
    ({"packages": ["torch>=2.11", "<2.12"]}, "a version range alone", "put the whole requirement in quotes"),
    ({"packages": ["torch==" + "9" * 5000]}, "not a requirement: a number of more than 600 digits", None),
    ({"packages": ["torch 2.10.0"]}, "not a requirement", "write torch==2.10.0"),
    ({"packages": ["torch@2.10"]}, "not a requirement", "write torch==2.10"),
    ({"packages": ["torch>=2.11+cu130"]}, "not a requirement", "write torch==2.11+cu130"),
    ({"packages": ["torch>=2.10<3"]}, "not a requirement", "write torch>=2.10,<3"),
    ({"packages": ["torch=>2.10"]}, "not a requirement", "write torch>=2.10"),
    ({"packages": ["torch=="]}, "not a requirement", None),
    ({"remove": ["torch==2.10"]}, "`remove` takes names", "write the name alone: torch"),
    ({"remove": ["--all"]}, "`remove` takes names", None),
    (
        {"packages": ["torch"], "remove": ["Torch"]},
        "stands under `packages` and under `remove`",
        "take torch out of one",
    ),
    ({"remove": ["torch"], "upgrade": True}, "`upgrade` has no effect", "remove it"),
    ({"packages": ["torch"], "index_url": "download.pytorch.org/whl/cu130"}, "is not an address", None),
    ({"packages": ["torch"], "index_url": "file:///srv/index"}, "is not an address of https or http", None),
    ({"packages": ["torch"], "index_url": "https:///simple"}, "names no host", None),
    ({"packages": ["torch"], "extra_index_urls": ["https://a.example/ b"]}, "holds white space", None),
    ({"packages": ["torch"], "prerelease": "yes"}, "`prerelease` is not one of its choices", None),
    ({"packages": ["torch"], "installer": "conda"}, "`installer` is not one of its choices", None),
    ({"packages": ["torch"], "constraints": ["c.txt"]}, "holds requirements, not files", "write `constraints: c.txt`"),
    ({"packages": ["torch"], "constraints": []}, "`constraints` is empty", None),
    ({"packages": ["torch"], "requirements": "--pre"}, "is not a path", None),
    ({"packages": ["a"], "installer": "pip", "overrides": ["b==1"]}, "`overrides` needs uv", "use `installer: uv`"),
    (
        {"packages": ["a"], "installer": "pip", "torch_backend": "auto"},
        "`torch_backend` needs uv",
        "use `installer: uv`",
    ),
    ({"packages": ["a"], "installer": "pip", "reinstall": ["b"]}, "`reinstall` needs uv", "use `installer: uv`"),
    ({"packages": ["a"], "venv": " "}, "`venv` names no folder", None),
]


@pytest.mark.parametrize(("values", "summary", "remedy"), REFUSED)
def test_refused(arguments, values, summary, remedy):
    with pytest.raises(Invalid) as caught:
        KIND.read(arguments(**{"venv": "~/ml-env", **values}))
    (diagnosis,) = caught.value.diagnoses
    assert summary in diagnosis.summary
    assert diagnosis.at is not None
    assert remedy is None or remedy in diagnosis.remedy


def test_every_wrong_requirement_is_told_at_its_place(arguments):
    with pytest.raises(Invalid) as caught:
        KIND.read(arguments(venv="~/ml-env", packages=["torch", "numpy=2", "-e ."]))
    assert [(it.at.line, it.at.column) for it in caught.value.diagnoses] == [(38, 30), (38, 40)]


def test_a_password_is_not_shown_in_an_error(arguments):
    with pytest.raises(Invalid) as caught:
        KIND.read(arguments(venv="~/ml-env", packages=["a"], index_url="ftp://ops:hunter2@pypi.example/"))
    assert caught.value.diagnoses[0].observed == "ftp://***@pypi.example/"


@pytest.mark.parametrize(
    "text",
    ["torch", "torch[cuda]>=2.10,<3", "sgl-kernel==0.3.21+cu130", "torch==2.10.*", "a ; python_version < '3.12'",
     "./dist/a-1-py3-none-any.whl", "/srv/a.tar.gz", "https://a.example/a-1-py3-none-any.whl",
     "git+https://a.example/a.git@main", "a @ https://a.example/a-1-py3-none-any.whl", "a@https://a.example/a.whl"],
)  # fmt: skip
def test_accepted(arguments, text):
    assert KIND.read(arguments(venv="~/ml-env", packages=[text])).wishes.wanted[0].text == text


# ---- words and state


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"packages": ["torch", "torchvision"]}, "install torch, torchvision in ~/ml-env"),
        ({"packages": list("abcdef")}, "install a, b, c and 3 more in ~/ml-env"),
        ({"packages": ["torch"], "upgrade": True}, "upgrade torch in ~/ml-env"),
        ({"packages": ["torch"], "reinstall": True, "remove": ["a"]}, "remove a, reinstall torch in ~/ml-env"),
        ({"requirements": "~/r.txt"}, "install ~/r.txt in ~/ml-env"),
        ({"create": {}}, "make the environment ~/ml-env"),
    ],
)
def test_describe(arguments, values, text):
    assert KIND.read(arguments(venv="~/ml-env", **values)).describe() == text


def test_the_environment_has_to_be_whole_afterwards(arguments):
    (condition,) = KIND.read(arguments(venv="~/ml-env", packages=["a"])).implied()
    assert condition.kind == "environment_intact"
    assert condition.arguments.text("venv") == "~/ml-env"
    assert (condition.at.line, condition.at.column) == (37, 7)


def test_state_is_the_packages_and_the_environment_itself(arguments, environment_facts):
    kind = KIND.read(arguments(venv="~/ml-env", packages=["torch"]))
    state = kind.state(environment_facts(TORCH))
    assert state["package", "torch"].text == "2.10.0+cu128"
    assert ("environment", "~/ml-env") in state
    assert kind.state(environment_facts(kind="missing")) == {}


IGNORED = {
    "ignored": {
        "variables": ["PIP_INDEX_URL", "UV_EXTRA_INDEX_URL"],
        "files": ["~/.config/uv/uv.toml", "/etc/xdg/pip/pip.conf"],
    }
}


@pytest.mark.parametrize(
    ("node", "settings"),
    [
        ({}, "uv on the node are ignored: UV_EXTRA_INDEX_URL, ~/.config/uv/uv.toml"),
        ({"uv": None}, "pip on the node are ignored: PIP_INDEX_URL, /etc/xdg/pip/pip.conf"),
    ],
)
def test_a_plan_shows_which_settings_of_the_installer_are_ignored(arguments, environment_facts, node, settings):
    action = KIND.read(arguments(venv="~/ml-env", packages=["torch"]))
    (note,) = action.notes(environment_facts(TORCH, **IGNORED, **node))
    assert note.summary == f"settings of {settings}"
    assert note.severity is Severity.NOTE
    assert note.remedy == "Add `inherit_config: true` at 37:7 to have them count."


@pytest.mark.parametrize(
    ("values", "node"), [({}, {}), ({"inherit_config": True}, IGNORED), ({}, {**IGNORED, "uv": None, "pip": None})]
)
def test_nothing_is_noted_where_nothing_is_ignored(arguments, environment_facts, values, node):
    action = KIND.read(arguments(venv="~/ml-env", packages=["torch"], **values))
    assert action.notes(environment_facts(TORCH, **node)) == ()
