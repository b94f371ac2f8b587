"""A run as JUnit XML: counted as CI systems count, with all that is known of a failure."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackplan.model.outcome import NodeOutcome, StepOutcome
from stackplan.reports import junit
from tests.reports.test_html import hostile


def parsed(text):
    return ET.fromstring(text)


@pytest.mark.parametrize("sample", ["no_op", "regression", "unreachable", "satisfied"], indirect=True)
def test_reads_as_the_golden_file_says(sample, golden):
    name, report = sample
    golden(f"junit_{name}", junit.render(report))


def test_counts_add_up(sample):
    _, report = sample
    suites = parsed(junit.render(report))
    assert len(suites) == len(report.nodes)
    for tag, name in (("testcase", "tests"), ("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert int(suites.get(name)) == len(list(suites.iter(tag)))
        assert int(suites.get(name)) == sum(int(suite.get(name)) for suite in suites)


def test_a_stop_fails_the_step_and_skips_what_comes_after_it(no_op_report):
    toolkit, torch, *rest = parsed(junit.render(no_op_report)).iter("testcase")
    assert len(toolkit) == 0
    failure = torch.find("failure")
    assert failure.get("type") == "no-op"
    for told in ("expected  13.0", "observed  12.8", "SP201", "Add `upgrade: true`", ".yaml:41:9"):
        assert told in failure.text
    assert "Audited 3 packages" in torch.find("system-out").text
    assert [case.find("skipped") is not None for case in rest] == [True, True]


@pytest.mark.parametrize(("outcome", "failures"), [(NodeOutcome.OK, 0), (NodeOutcome.FAILED, 1)])
def test_what_a_rollback_put_back_is_no_failure_of_it(no_op_report, outcome, failures):
    (node,) = no_op_report.nodes
    first, *rest = node.steps
    step = replace(first, outcome=StepOutcome.ROLLED_BACK)
    well = [replace(it, outcome=StepOutcome.SATISFIED, reason=None) for it in rest]
    report = replace(no_op_report, nodes=(replace(node, outcome=outcome, steps=(step, *well)),))
    assert int(parsed(junit.render(report)).get("failures")) == failures


@pytest.mark.parametrize("sample", ["unreachable"], indirect=True)
def test_a_node_that_could_not_be_reached_is_an_error(sample):
    _, report = sample
    _, away, held = parsed(junit.render(report))
    assert away.find("testcase/error").get("type") == "unreachable"
    assert "start its SSH server" in away.find("testcase/error").text
    assert "no process on any GPU" in held.find("testcase/error").text


def test_a_report_without_a_node_is_a_document_without_a_suite(no_op_report):
    assert len(parsed(junit.render(replace(no_op_report, nodes=())))) == 0


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=80) | st.sampled_from(["\ud800", "\ufffe", "\x00", "]]>", "&", "\x1b[31m\u202e"]))
def test_whatever_is_said_it_is_well_formed_and_printable(text):
    document = junit.render(hostile(text))
    parsed(document)
    assert all(line.isprintable() for line in document.split("\n"))


def test_what_is_not_known_fails_with_a_type_of_its_own(unproven_report):
    failures = list(parsed(junit.render(unproven_report)).iter("failure"))
    assert [it.get("type") for it in failures] == ["not proven", "not held"]
