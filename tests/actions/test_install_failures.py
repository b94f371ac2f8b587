"""What is said of an installation that did not lead where it should: a table of evidence and diagnoses."""

from dataclasses import replace

import pytest

from stackplan.actions.python_packages import KIND
from stackplan.model.change import Change
from stackplan.model.job import Exited
from stackplan.model.kind import Evidence
from stackplan.model.outcome import Reason
from stackplan.model.verdict import not_held

CU128 = ("torch", "2.10.0+cu128")
CU130 = ("torch", "2.11.0.dev20260201+cu130")
INDEX = "https://download.pytorch.org/whl/nightly/cu130"
UNMET = (
    not_held("torch built for CUDA 13.0", expected="13.0", observed="12.8", evidence="torch 2.10.0+cu128 in ~/ml-env"),
)


@pytest.fixture
def diagnose(arguments, evidence):
    """Return what the kind says of these arguments and this evidence."""

    def build(values, *about, **more):
        read = arguments(venv="~/ml-env", **values)
        more.setdefault("unmet", UNMET)
        return KIND.read(read).diagnose(evidence(read, *about, **more))

    return build


def test_the_founding_story(diagnose):
    values = {"packages": ["torch", "torchvision", "torchaudio"], "index_url": INDEX}
    installed = [("torchaudio", "2.10.0+cu128"), CU128, ("torchvision", "0.25.0+cu128")]
    (diagnosis,) = diagnose(values, installed, output="Audited 3 packages in 29ms\n")
    assert diagnosis.code == "SP201"
    assert diagnosis.summary == 'The installed torch 2.10.0+cu128 satisfies "torch", so no other index was consulted.'
    assert diagnosis.remedy == "Add `upgrade: true` at 37:7, or pin its version and label (torch==VERSION+cu130)."
    assert str(diagnosis.remedy_at) == "playbooks/p.yaml:37:7"
    assert diagnosis.step == "torch"


NO_OPS = [
    ({"packages": ["torch"]}, [CU128], "SP201", "so nothing was looked for", "Add `upgrade: true` at 37:7"),
    ({"packages": ["torch==2.10.0"], "index_url": INDEX}, [CU128], "SP201", 'satisfies "torch==2.10.0"', "+cu130"),
    (
        {"packages": ["torch"], "torch_backend": "cu130"},
        [CU128],
        "SP201",
        "so no other index was consulted",
        "torch==VERSION+cu130",
    ),
    (
        {"packages": ["torch", "numpy"], "upgrade": ["numpy"]},
        [CU128, ("numpy", "2.0")],
        "SP201",
        "The installed torch",
        "Add torch to `upgrade` at 39:7",
    ),
    (
        {"packages": ["torch"], "index_url": "https://download.pytorch.org/whl/cu126"},
        [CU128],
        "SP201",
        "The installed torch",
        "Add `reinstall: [torch]` at 37:7, or pin its version and label (torch==VERSION+cu126): `upgrade` goes",
    ),
    (
        {"packages": ["torch"], "index_url": "https://download.pytorch.org/whl/cu128", "upgrade": True},
        [CU130],
        "SP202",
        "none above the installed torch 2.11.0.dev20260201+cu130 was on offer",
        "Pin its version and label (torch==VERSION+cu128), or add `reinstall: [torch]` at 37:7.",
    ),
]


@pytest.mark.parametrize(("values", "installed", "code", "summary", "remedy"), NO_OPS)
def test_no_op(diagnose, values, installed, code, summary, remedy):  # noqa: PLR0917 - one row of the table
    (diagnosis,) = diagnose(values, installed)
    assert diagnosis.code == code
    assert summary in diagnosis.summary
    assert remedy in diagnosis.remedy


def test_the_label_is_taken_from_the_condition_where_no_index_tells_it(diagnose):
    (diagnosis,) = diagnose({"packages": ["torch"]}, [CU128])
    assert "torch==VERSION+cu130" in diagnosis.remedy


def test_no_label_is_guessed(diagnose):
    unmet = (not_held("torch >=2.11", expected=">=2.11", observed="2.10.0+cu128"),)
    (diagnosis,) = diagnose({"packages": ["torch"]}, [CU128], unmet=unmet)
    assert diagnosis.remedy == "Add `upgrade: true` at 37:7, or pin its exact version and label."


def test_reinstall_that_changed_nothing_is_not_told_to_upgrade(diagnose):
    assert diagnose({"packages": ["torch"], "reinstall": True}, [CU128]) == ()


def test_missing_files_are_told_before_the_installed_version(diagnose):
    findings = {"missing-file": {"count": 1, "first": [{"distribution": "torch", "path": "torch/version.py"}]}}
    first, *_ = diagnose({"packages": ["torch"]}, [CU130], findings=findings)
    assert first.code == "SP203"
    assert first.summary == (
        "Files of torch are not as RECORD says (torch/version.py is missing), and installers look only at the "
        "metadata, which is there."
    )
    assert first.remedy == "Add `reinstall: [torch]` at 37:7."


def test_a_file_of_another_size_is_told_with_both(diagnose):
    def row(path, detail=None):
        return {"distribution": "torch", "path": path, "detail": detail}

    sizes = [row("torch/a.so", "12 bytes instead of 7"), row("torch/b.so", "0 bytes instead of 9")]
    findings = {
        "no-plain-file": {"count": 1, "first": [row("torch/lib")]},
        "two-owners": {"count": 1, "first": [row("torch/c.so", "also written by x")]},
        "wrong-size": {"count": 2, "first": sizes},
    }
    first, *_ = diagnose({"packages": ["torch"]}, [CU130], findings=findings)
    told = "torch/lib is no plain file; torch/a.so has 12 bytes instead of 7; torch/b.so has 0 bytes instead of 9"
    assert (first.code, f"RECORD says ({told}), and" in first.summary) == ("SP203", True)
    findings["wrong-size"]["first"] = sizes * 3
    first, *_ = diagnose({"packages": ["torch"]}, [CU130], findings=findings)
    assert "; and others)" in first.summary


def test_two_dist_infos(diagnose):
    findings = {"two-versions": {"count": 1, "first": [{"distribution": "torch"}]}}
    first, *_ = diagnose({"packages": ["torch"], "upgrade": True}, [CU128, CU130], findings=findings)
    assert first.code == "SP204"
    assert "torch-2.10.0+cu128.dist-info, torch-2.11.0.dev20260201+cu130.dist-info" in first.summary


def test_missing_record(diagnose):
    findings = {"missing-record": {"count": 1, "first": [{"distribution": "torch"}]}}
    first, *_ = diagnose({"packages": ["torch"], "upgrade": True}, [CU128], findings=findings)
    assert first.code == "SP204"
    assert first.summary == "torch-2.10.0+cu128.dist-info has no RECORD, so no installer can take torch away."


def test_settings_that_were_let_in(diagnose):
    node = {"ignored": {"variables": ["UV_EXTRA_INDEX_URL"], "files": []}}
    values = {"packages": ["torch"], "index_url": INDEX, "upgrade": True, "inherit_config": True}
    *_, last = diagnose(values, [CU128], node=node)
    assert last.code == "SP212"
    assert "UV_EXTRA_INDEX_URL" in last.summary
    assert last.remedy == "Remove `inherit_config` at 41:7."


FAILED = [
    (
        (
            "error: Failed to install: torch-2.10.0+cu130-py3-none-any.whl (torch==2.10.0+cu130)\n"
            "  cause: failed to write: No space left on device (os error 28)\n"
        ),
        "SP205",
        "filled up",
        "then add `reinstall: [torch]` at 37:7",
    ),
    (
        "error: failed to remove file `/home/ops/ml-env/x/INSTALLER`: Permission denied (os error 13)\n",
        "SP206",
        "ops may not write /home/ops/ml-env/x/INSTALLER.",
        None,
    ),
    (
        (
            "error: Request failed after 3 retries in 6.9s\n  cause: Failed to fetch: http://127.0.0.1:9/simple/torch/\n"
            "  cause: client error (Connect)\n  cause: Connection refused (os error 111)\n"
        ),
        "SP207",
        "could not fetch",
        "Check `index_url` at 39:7",
    ),
    (
        (
            "error: No solution found when resolving dependencies\n  cause: Because torch was not found in the package "
            "registry and you require torch, we can conclude that your requirements are unsatisfiable.\n"
        ),
        "SP208",
        "do not offer torch.",
        "Check `index_url` at 39:7",
    ),
    (
        (
            "  \u00d7 No solution found when resolving dependencies:\n"
            "  \u2570\u2500\u25b6 Because there is no version of torch==9 and you\n"
            "      require torch==9, we can conclude that your requirements are unsatisfiable.\n"
        ),
        "SP208",
        "No set of versions",
        None,
    ),
    (
        (
            "ERROR: Could not find a version that satisfies the requirement sglang (from versions: none)\n"
            "ERROR: No matching distribution found for sglang\n"
        ),
        "SP208",
        "do not offer sglang.",
        "Check `index_url`",
    ),
    (
        "ERROR: Requested torch has inconsistent version: expected '2.10.0+cu130', but metadata has '2.10.0'\n",
        "SP209",
        "not what the index",
        "Have the index mended",
    ),
    ("error: uninstall-no-record-file\n\nx Cannot uninstall torch 2.10.0\n", "SP204", "lacks its RECORD", "Remove its"),
]


@pytest.mark.parametrize(("output", "code", "summary", "remedy"), FAILED)
def test_the_installer_failed(diagnose, output, code, summary, remedy):
    values = {"packages": ["torch"], "index_url": INDEX}
    first, *_ = diagnose(values, [CU128], code=2, output=output, reason=Reason.ACTION)
    assert first.code == code
    assert summary in first.summary
    assert first.remedy is None if remedy is None else remedy in first.remedy


@pytest.mark.parametrize("output", [output for output, *_ in FAILED])
def test_output_proves_nothing_when_the_installer_ended_with_0(diagnose, output):
    assert [it.code for it in diagnose({"packages": ["torch"]}, [CU128], output=output)] == ["SP201"]


def test_uv_reasons_are_unwrapped(diagnose):
    output = FAILED[4][0]
    (diagnosis,) = diagnose({"packages": ["torch==9"]}, [CU128], code=1, output=output, reason=Reason.ACTION)
    assert diagnosis.causes == (
        (
            "Because there is no version of torch==9 and you require torch==9, "
            "we can conclude that your requirements are unsatisfiable."
        ),
    )


def test_a_package_that_pins_torch_brought_another_back(diagnose):
    after = [("sglang", "0.5.2", "numpy", "torch==2.9.1"), ("torch", "2.9.1"), ("torchvision", "0.26", "torch")]
    changes = (Change("package", "sglang", None, "0.5.2"), Change("package", "torch", CU130[1], "2.9.1"))
    (diagnosis,) = diagnose(
        {"packages": ["sglang"]}, [CU130], after, reason=Reason.REGRESSION, changes=changes, broken_step="torch"
    )
    assert diagnosis.code == "SP210"
    assert diagnosis.summary == (
        "torch 2.11.0.dev20260201+cu130 was replaced by 2.9.1: sglang 0.5.2 requires torch==2.9.1."
    )
    assert diagnosis.remedy == (
        "Choose a version of sglang that goes with torch 2.11.0.dev20260201+cu130, or add `no_deps: true` at 37:7; "
        "`constraints: [torch==2.11.0.dev20260201+cu130]` has the installer refuse rather than replace."
    )


def test_a_package_that_goes_with_both_is_held_by_a_constraint(diagnose):
    after = [("sglang", "0.5.2", "torch>=2.9"), ("torch", "2.9.1")]
    changes = (Change("package", "torch", CU130[1], "2.9.1"),)
    (diagnosis,) = diagnose({"packages": ["sglang"]}, [CU130], after, reason=Reason.REGRESSION, changes=changes)
    assert diagnosis.remedy == "Add `constraints: [torch==2.11.0.dev20260201+cu130]` at 37:7."


@pytest.mark.parametrize(
    ("observed", "told"),
    [
        ("flashinfer-python requires torch==2.9.1, and torch is 2.14.1", []),
        ("sglang requires triton==3.5.1, and triton is 3.7.0", ["SP210"]),
    ],
)
@pytest.mark.parametrize("reason", [Reason.POSTCONDITION, Reason.REGRESSION])
def test_a_package_replaced_on_the_way_is_told_only_where_something_misses_it(diagnose, observed, told, reason):
    before = [("torch", "2.9.1", "triton==3.5.1"), ("triton", "3.5.1")]
    after = [("torch", "2.14.1", "triton==3.7.0"), ("triton", "3.7.0")]
    changes = (Change("package", "torch", "2.9.1", "2.14.1"), Change("package", "triton", "3.5.1", "3.7.0"))
    unmet = (not_held("packages consistent", expected="every requirement met", observed=observed),)
    found = diagnose({"packages": ["torch==2.14.1+cu130"]}, before, after, reason=reason, changes=changes, unmet=unmet)
    assert [it.code for it in found if it.code == "SP210"] == told


def test_what_an_earlier_step_proved_need_not_speak_of_what_was_replaced(diagnose):
    after = [("sglang", "0.5.2", "torch==2.9.1"), ("torch", "2.9.1")]
    changes = (Change("package", "torch", CU130[1], "2.9.1"),)
    unmet = (not_held("import sgl_kernel", expected="it imports", observed="ImportError: DLL"),)
    for reason, told in ((Reason.REGRESSION, ["SP210"]), (Reason.POSTCONDITION, [])):
        found = diagnose({"packages": ["sglang"]}, [CU130], after, reason=reason, changes=changes, unmet=unmet)
        assert [it.code for it in found] == told


def test_an_extra_that_was_not_asked_for_is_not_blamed(diagnose):
    after = [("sglang", "0.5.2", "torch==2.9.1 ; extra == 'old'"), ("torch", "2.9.1")]
    changes = (Change("package", "torch", CU130[1], "2.9.1"),)
    assert diagnose({"packages": ["sglang"]}, [CU130], after, reason=Reason.REGRESSION, changes=changes) == ()


def test_an_upgrade_that_went_too_far(diagnose):
    after = [("torch", "2.15.0")]
    changes = (Change("package", "torch", CU128[1], "2.15.0"),)
    (diagnosis,) = diagnose(
        {"packages": ["torch"], "upgrade": True}, [CU128], after, reason=Reason.POSTCONDITION, changes=changes
    )
    assert diagnosis.code == "SP211"
    assert diagnosis.summary == '"torch" admits torch 2.15.0, which is what the installer chose.'
    assert diagnosis.remedy == "Pin the version that is wanted at 38:7: torch==VERSION+cu130."


def test_nothing_is_said_without_evidence(diagnose):
    assert diagnose({"packages": ["sglang"]}, [CU128], code=1, output="boom\n", reason=Reason.ACTION) == ()


UNREAD = (
    "Could not fetch URL https://index.example/simple/torch/: There was a problem confirming the ssl certificate: "
    "HTTPSConnectionPool(host='index.example', port=443): Max retries exceeded (Caused by SSLError(CERTIFICATE_VERIFY_"
    "FAILED)) - skipping\nRequirement already satisfied: torch in ./ml-env (2.10.0+cu128)\n"
)


def test_an_index_that_was_passed_over_is_told_instead_of_what_it_did_not_offer(diagnose):
    node = {"ignored": {"variables": [], "files": ["/etc/pip.conf"]}}
    (diagnosis,) = diagnose({"packages": ["torch"], "upgrade": True}, [CU128], output=UNREAD, node=node)
    assert (diagnosis.code, diagnosis.summary) == (
        "SP207",
        "An index could not be read, and the installer went on without it.",
    )
    assert "add `inherit_config: true` at 37:7" in diagnosis.remedy
    assert diagnosis.causes[0].startswith("Could not fetch URL https://index.example/simple/torch/")


def test_an_upgrade_without_effect_sends_the_reader_to_the_index_too(diagnose):
    (diagnosis,) = diagnose({"packages": ["torch"], "upgrade": True, "index_url": "http://127.0.0.1/x"}, [CU128])
    assert diagnosis.code == "SP202"
    assert "Check `index_url` at" in diagnosis.remedy


def test_the_state_alone_tells_of_files_and_never_of_what_no_installer_did(arguments, environment_facts):
    given = arguments(venv="~/ml-env", packages=["torch"])
    kind = KIND.read(given)
    findings = {"missing-file": {"count": 1, "first": [{"distribution": "torch", "path": "torch/version.py"}]}}

    def found(facts):
        evidence = Evidence(
            step="torch", at=given.at, arguments=given, before=facts, after=facts, ending=Exited(0), output="",
            reason=Reason.POSTCONDITION,
        )  # fmt: skip
        return [it.code for it in kind.diagnose_state(evidence)]

    assert found(environment_facts(("torch", "2.10.0+cu128"), findings=findings)) == ["SP203"]
    assert found(environment_facts(("torch", "2.10.0+cu128"))) == []
    whole = environment_facts(("torch", "2.10.0+cu128"), findings=findings)
    records = {query: answer for query, answer in whole.answers.items() if query.kind == "records"}
    assert found(replace(whole, answers=records)) == ["SP203"]
    assert found(replace(whole, answers={})) == []


def test_where_another_step_installs_what_is_broken_no_place_here_is_named(diagnose):
    findings = {"missing-file": {"count": 1, "first": [{"distribution": "numpy", "path": "numpy/a.py"}]}}
    first, *_ = diagnose({"packages": ["torch"]}, [CU130], findings=findings)
    assert first.remedy_at is None
    assert "to the step that installs numpy" in first.remedy
