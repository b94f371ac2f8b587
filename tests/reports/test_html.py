"""The page about a run: what it says, that it is well-formed, and that nothing a node said can act in it."""

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackplan.model.change import Change
from stackplan.model.diagnosis import Diagnosis
from stackplan.model.event import (
    ConnectionDropped,
    OutputSeen,
    Reattached,
    RunEnded,
    RunStarted,
    StepEnded,
    StepStarted,
)
from stackplan.model.outcome import NodeOutcome, Phase, Reason, StepOutcome
from stackplan.model.report import ActionReport, ConditionReport, NodeReport, PlaybookIdentity, Report, StepReport
from stackplan.model.verdict import Status
from stackplan.reports import html

STYLE = re.compile(r"<style>.*?</style>\n", re.DOTALL)


def parsed(page):
    return ET.fromstring(page.removeprefix("<!DOCTYPE html>\n"))


def words(page):
    """What a reader sees, blanks evened out."""
    return " ".join(" ".join(parsed(STYLE.sub("", page)).itertext()).split())


def incident(report):
    """The report as that of a finished run, with its events."""
    started, ended = "2026-12-01T03:10:22.100Z", "2026-12-01T03:14:25.900Z"
    report = replace(
        report,
        started=started,
        ended=ended,
        variables={"cuda": "13.0", "hf_token": "***"},
        playbook=replace(report.playbook, revision="1f0c9b7"),
    )
    begun = RunStarted(
        run=report.run or "R", command="apply", playbook=report.playbook, nodes=("gpu-01",), steps=("torch",),
        time=started, operator="ops", host="desk",
    )  # fmt: skip
    torch = report.nodes[0].steps[1]
    events = (
        begun,
        StepStarted(node="gpu-01", step="torch", action=torch.action, time="2026-12-01T03:10:25Z"),
        OutputSeen(node="gpu-01", step="torch", text="not in the chronicle", time="2026-12-01T03:10:26Z"),
        ConnectionDropped(node="gpu-01", step="torch", why="reset by peer", time="2026-12-01T03:10:27Z"),
        Reattached(node="gpu-01", step="torch", time="2026-12-01T03:10:30Z"),
        StepEnded(node="gpu-01", step=torch, time="2026-12-01T03:10:31Z"),
        RunEnded(run="R", outcome=NodeOutcome.FAILED, time=ended),
    )
    return report, events


def test_a_small_one_reads_as_the_golden_file_says(no_op_report, golden):
    golden("page_no_op", html.render(*incident(no_op_report)))


def test_every_sample_is_well_formed(sample):
    _, report = sample
    assert parsed(html.render(report)).tag == "html"


def test_says_what_a_team_has_to_know_after_an_incident(no_op_report):
    page = words(html.render(*incident(no_op_report)))
    for told in (
        "1 of 1 node stopped at torch. Nothing after it ran.",
        "2026-12-01 03:10:22 UTC , took 4 min 04 s",
        "ops@desk",
        "playbooks/cuda13-blackwell.yaml",
        "1f0c9b7",
        "torch built for CUDA 13.0 playbooks/cuda13-blackwell.yaml:41:9 13.0 12.8 torch 2.10.0+cu128 in ~/ml-env",
        "SP201",
        "Add `upgrade: true`, or pin torch==2.11.0+cu130.",
        "uv pip install --python ~/ml-env/bin/python",
        "Audited 3 packages in 29ms",
        "cuda 13.0 hf_token ***",
        "03:10:27 gpu-01: connection lost, reconnecting: reset by peer",
    ):
        assert told in page
    assert "not in the chronicle" not in page


@pytest.mark.parametrize("sample", ["regression"], indirect=True)
def test_changes_stand_before_and_after(sample):
    _, report = sample
    page = html.render(report)
    assert '<del class="mono">2.10.0+cu128</del>' in page
    assert '<ins class="mono">2.11.0.dev20260226+cu130</ins>' in page
    assert "Broke what torch had proven" in page


def test_what_went_wrong_is_open_and_the_rest_is_folded(no_op_report):
    page = parsed(html.render(no_op_report))
    steps = [it for it in page.iter("details") if it.get("class") == "step"]
    assert [it.get("open") is not None for it in steps] == [False, True]
    bare = [it for it in page.iter("p") if it.get("class") == "step row"]
    assert ["".join(it.itertext()) for it in bare] == ["·sglangnot reached", "·sgl-kernelnot reached"]


def test_bars_follow_one_another(no_op_report):
    node = no_op_report.nodes[0]
    steps = tuple(
        replace(node.steps[1], id=f"s{number}", duration_s=taken) for number, taken in enumerate((30, 10, 60))
    )
    page = html.render(replace(no_op_report, nodes=(replace(node, steps=steps),)))
    assert re.findall(r"left:([\d.]+)%;width:([\d.]+)%", page) == [("0.0", "30.0"), ("30.0", "10.0"), ("40.0", "60.0")]


def test_steps_that_took_no_time_at_all_have_bars_too(no_op_report):
    node = no_op_report.nodes[0]
    steps = (replace(node.steps[1], duration_s=0.0),)
    assert "left:0.0%;width:0.0%" in html.render(replace(no_op_report, nodes=(replace(node, steps=steps),)))


def test_a_clock_that_was_set_back_gives_no_duration(no_op_report):
    report = replace(no_op_report, started="2026-12-01T03:10:22Z", ended="2026-12-01T03:00:00Z")
    assert "took" not in words(html.render(report))
    assert "not a time" in words(html.render(replace(report, started="not a time")))


def test_needs_nothing_from_elsewhere_and_runs_nothing(sample):
    _, report = sample
    page = html.render(report)
    tags = {it.tag for it in parsed(page).iter()}
    assert not tags & {"script", "img", "link", "iframe", "object", "embed", "form", "svg"}
    attributes = {name for it in parsed(page).iter() for name in it.keys()}  # noqa: SIM118 - an element is no mapping
    assert not {name for name in attributes if name.startswith("on")} | attributes & {"src", "srcset", "action"}
    assert all(it.get("href").startswith("#node-") for it in parsed(page).iter("a"))
    assert "@import" not in page
    assert "url(" not in STYLE.search(page)[0]


def test_light_dark_and_paper_are_styled(no_op_report):
    style = STYLE.search(html.render(no_op_report))[0]
    assert "prefers-color-scheme: dark" in style
    assert "@media print" in style


HOSTILE = (
    "</pre></details><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7*7 }}{% include 'x' %}\u202e\x1b[31m"
)


def hostile(text):
    """A report in which every text of a node, of a playbook and of an operator is `text`."""
    condition = ConditionReport(
        phase=Phase.POST, kind=text, text=text, status=Status.NOT_HELD, before=Status.HELD, expected=text,
        observed=text, evidence=text, message=text, name=text,
    )  # fmt: skip
    unknown = replace(condition, status=Status.UNKNOWN, why=text)
    finding = Diagnosis(summary=text, code="SP201", expected=text, observed=text, causes=(text,), remedy=text)
    action = ActionReport(kind=text, command=text, ending=text, output_tail=text, attempts=2)
    step = StepReport(
        id=text, outcome=StepOutcome.FAILED, reason=Reason.ACTION, name=text, why=text, message=text, action=action,
        conditions=(condition, unknown), diagnoses=(finding,), duration_s=1.0,
    )  # fmt: skip
    node = NodeReport(
        node=text, outcome=NodeOutcome.LOST, steps=(step,), summary=text, message=f"x{text}", remedy=text,
        preconditions=(condition,), diagnoses=(finding,),
    )  # fmt: skip
    playbook = PlaybookIdentity(name=text, path=text, sha256=text, revision=text)
    return Report(
        command="apply", outcome=NodeOutcome.LOST, playbook=playbook, nodes=(node, node), run=text, started=text,
        ended=text, variables={text: text}, diagnoses=(finding,),
    )  # fmt: skip


def test_what_is_hostile_is_text():
    page = html.render(hostile(HOSTILE))
    assert "script" not in {it.tag for it in parsed(page).iter()}
    assert "<script" not in page
    assert "49" not in words(page).replace("{{ 7*7 }}", "")
    assert "\u202e" not in page
    assert "\\u202e" in page
    assert "\x1b" not in page


@settings(max_examples=40, deadline=None)
@given(
    st.text(max_size=80) | st.sampled_from(["\ud800", "\ufffe", "\x00", "]]>", "&", "\u2066", "a\rb\nc\x85d\u2028e"])
)
def test_whatever_is_said_the_page_is_well_formed_and_printable(text):
    page = html.render(hostile(text))
    parsed(page)
    assert all(line.isprintable() for line in page.split("\n"))


def test_what_is_huge_is_bounded():
    page = html.render(hostile("x" * 1_000_000 + "\n" * 100_000))
    assert len(page) < 200_000


def test_a_chronicle_without_end_is_cut(no_op_report):
    event = Reattached(node="gpu-01", step=None, time="2026-12-01T03:10:30Z")
    page = html.render(no_op_report, [event] * (html.CHRONICLE * 2))
    assert page.count("connected again") == html.CHRONICLE
    assert "more than 3000 entries" in page


@pytest.mark.parametrize("count", [1, 500])
def test_of_many_nodes_each_has_its_row(many_report, count):
    report = replace(many_report, nodes=many_report.nodes[:count])
    page = html.render(report)
    assert page.count('<section class="node"') == count
    assert ('href="#node-500"' in page) is (count == 500)


def test_what_is_not_known_is_never_called_not_held(unproven_report):
    doubt = words(html.render(replace(unproven_report, nodes=unproven_report.nodes[:1])))
    assert "? torch not proven · cannot be proven: torch built for CUDA 13.0" in doubt
    assert "not everything is proven" in doubt
    assert "not held" not in doubt
    assert "✘ torch not held" in words(html.render(unproven_report))


def test_the_page_says_of_a_service_that_it_was_restarted():
    change = Change("service", "sglang", "active (running)", "active (running)")
    action = ActionReport(kind="service", command="systemctl restart sglang")
    done = StepReport(id="s", outcome=StepOutcome.CHANGED, action=action, changes=(change,))
    node = NodeReport(node="n", outcome=NodeOutcome.OK, steps=(done,))
    identity = PlaybookIdentity(name="b", path="b.yaml", sha256="0" * 64)
    page = html.render(Report(command="apply", outcome=NodeOutcome.OK, playbook=identity, nodes=(node,)))
    assert '<span class="soft">restarted</span>' in page
    assert "written again" not in page
