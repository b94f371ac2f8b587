"""A run as JUnit XML, for the test views of CI systems: a suite a node, a case a step; pure.

A step that was proven passed; one that stopped its node failed, with all that is known of it; one that was not come to
is skipped. A node that stopped outside of its steps gets a case of its own, `(node)`.
"""

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from stackplan.model.outcome import NodeOutcome, StepOutcome
from stackplan.model.report import NodeReport, Report, StepReport
from stackplan.reports import condition_text as lines
from stackplan.reports.paint import Paint
from stackplan.reports.safe import safe, safe_lines, safe_paragraphs
from stackplan.reports.wording import node_word, step_sentence, step_word

WIDTH = 120
OUTPUT_LINES = 60
_FAILED = frozenset({StepOutcome.FAILED, StepOutcome.WOULD_FAIL, StepOutcome.NOT_HELD, StepOutcome.ROLLED_BACK})
_NOT_RUN = frozenset({StepOutcome.SKIPPED, StepOutcome.NOT_REACHED, StepOutcome.UNKNOWN})
_WELL = frozenset({NodeOutcome.OK, NodeOutcome.PENDING})
_NODE = "(node)"


def render(report: Report) -> str:
    """Return the text of an XML document that ends in a line break."""
    suites = Element("testsuites", name=safe(f"stackplan {report.command} {report.playbook.name}"))
    for node in report.nodes:
        suites.append(_suite(node, report))
    for name in ("tests", "failures", "errors", "skipped"):
        suites.set(name, str(sum(int(suite.get(name, "0")) for suite in suites)))
    suites.set("time", f"{sum(float(suite.get('time', '0')) for suite in suites):.3f}")
    indent(suites)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(suites, encoding="unicode")}\n'


def _suite(node: NodeReport, report: Report) -> Element:
    suite = Element("testsuite", name=safe(node.node))
    if report.started:
        suite.set("timestamp", safe(report.started.partition(".")[0].removesuffix("Z")))
    properties = SubElement(suite, "properties")
    for name, value in _properties(report):
        SubElement(properties, "property", name=name, value=safe(value))
    # Put back is what a rollback was to come to; in a run it is the end of a step that failed.
    put_back = {StepOutcome.ROLLED_BACK} if node.outcome in _WELL else set()
    cases = [_case(step, report, _FAILED - put_back) for step in node.steps]
    if node.outcome not in _WELL and not any(step.outcome in _FAILED for step in node.steps):
        cases.append(_node_case(node, report))
    suite.extend(cases)
    suite.set("tests", str(len(cases)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(sum(case.find(tag) is not None for case in cases)))
    suite.set("time", f"{sum(step.duration_s or 0.0 for step in node.steps):.3f}")
    return suite


def _properties(report: Report) -> list[tuple[str, str]]:
    playbook = report.playbook
    found = [("playbook", playbook.path), ("sha256", playbook.sha256)]
    found += [("revision", playbook.revision)] if playbook.revision else []
    return found + ([("run", report.run)] if report.run else [])


def _case(step: StepReport, report: Report, failed: frozenset[StepOutcome]) -> Element:
    case = _named(step.id, report)
    case.set("time", f"{step.duration_s or 0.0:.3f}")
    if step.outcome in failed:
        failure = SubElement(case, "failure", type=step_word(step), message=step_sentence(step, timed=False))
        failure.text = _told(step)
    elif step.outcome in _NOT_RUN:
        SubElement(case, "skipped", message=step_sentence(step, timed=False) or step_word(step))
    if step.action is not None and step.action.output_tail:
        SubElement(case, "system-out").text = "\n".join(safe_lines(step.action.output_tail, OUTPUT_LINES))
    return case


def _node_case(node: NodeReport, report: Report) -> Element:
    """Return the case that stands for a node which stopped, or was not taken, outside of its steps."""
    case = _named(_NODE, report)
    word = node_word(node, report.command)
    told = [safe_paragraphs(it) for it in (node.message, node.remedy) if it]
    told += lines.conditions_in_detail((it for it in node.preconditions if it.status.value != "held"), WIDTH, _BARE)
    if node.outcome is NodeOutcome.SKIPPED:
        SubElement(case, "skipped", message=safe(node.message or word))
    else:
        SubElement(case, "error", type=node.outcome.value, message=word).text = "\n".join(told)
    return case


def _named(name: str, report: Report) -> Element:
    return Element("testcase", name=safe(name), classname=safe(report.playbook.name))


_BARE = Paint(colour=False)


def _told(step: StepReport) -> str:
    """Return all that is known of a step that failed: conditions, findings and remedies, as a terminal shows them."""
    unmet = (it for it in step.conditions if it.status.value != "held")
    told = [safe(step.message)] if step.message else []
    told += lines.conditions_in_detail(unmet, WIDTH, _BARE)
    if step.broke is not None:
        told += ["", f"{lines.INDENT}of step {safe(step.broke.step)}:"]
        told += lines.conditions_in_detail(step.broke.conditions, WIDTH, _BARE)[1:]
    for diagnosis in step.diagnoses:
        told += ["", *lines.diagnosis_lines(diagnosis, WIDTH, _BARE)]
    told += ["", *lines.change_lines(step.changes, step)] if step.changes else []
    return "\n".join(line.rstrip() for line in told)
