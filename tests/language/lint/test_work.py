"""How much work a script of many commands makes: as much more as it is longer. Calls are counted, no time is taken."""

import cProfile

import pytest

from stackplan.language import linting
from stackplan.language.alone import render_alone
from stackplan.language.lint._script import Script
from stackplan.model.location import Location

MANY = {
    "failures passed over": "/opt/x{n} || true",
    "a chain of them": "/opt/x{n} || \\",
    "a pipe": "/opt/x{n} | \\",
    "a pipe of downloads": "curl -fsS https://x.example.com/{n} | \\",
    "jobs in the background": "/opt/x{n} &",
    "jobs that are waited for": "/opt/x{n} > /srv/{n} &\nwait",
    "a status noted for nothing": "/opt/x{n} || r{n}=$?",
    "failures switched off": "set +e\ngrep x /srv/{n}",
    "exports of what a command prints": "export A{n}=$(/opt/x{n})",
    "variables that are used": "A{n}=/opt/x{n}\n$A{n} --all",
    "downloads that are compared": "curl -fsSLO https://x.example.com/{n}.tgz\nsha256sum -c {n}.sum",
    "lists of sums": "curl -fsSLO https://x.example.com/{n}.tgz\ncurl -fsSLO https://x.example.com/SHA256SUMS\n"
    "sha256sum -c SHA256SUMS",
    "lists that are written": "echo '0  {n}.tgz' > s{n}\ncurl -fsSLO https://x.example.com/{n}.tgz\nsha256sum -c s{n}",
    "installs": "pip install p{n}",
    "installs that fall back": "pip install p{n} || pip install q{n}",
    "installs whose status is noted": "pip install p{n} || r{n}=1\n[ $r{n} = 0 ] || exit 1",
    "comments that answer": "/opt/x{n} || true # stackplan: ignore[SP160] it is meant",
    "here-documents": "cat > /srv/{n} <<END\n# stackplan: ignore[SP160] in the file\nEND",
    "removals": "cd /srv/{n}\nrm -f lock",
    "failures that are noted": "/opt/x{n} || { failed=1; /opt/see || true; }\n[ $failed -eq 0 ]",
    "failures that are asked for": "rc=0\n/opt/x{n} || rc=$?\n[ $rc -eq 0 ] || /opt/see || true\n[ $rc -eq 0 ]",
    "failures that nobody asks for": "/opt/x{n} || { failed={n}; /opt/see || true; }",
    "functions of traps": "f{n}() { /opt/x{n} || true; }\ntrap f{n} ERR",
    "branches": "if ! /opt/x{n}; then echo no; fi",
}


def written(read, line, times):
    lines = "\n".join(line.replace("{n}", str(at)) for at in range(times)).splitlines()
    block = "".join(f"        {it}\n" for it in [*lines, "/opt/end"])
    return read(f"  - id: one\n    run:\n      script: |\n{block}    postconditions:\n      - file: {{path: /x}}\n")


@pytest.fixture
def calls(read):
    """Return how many functions are called for the review of a script with so many commands."""

    def counted(line, times):
        playbook = written(read, line, times)
        rendered = render_alone(playbook).playbook
        linting.rules()
        with cProfile.Profile() as profile:
            linting.review(playbook, rendered)
        return sum(it.callcount for it in profile.getstats())

    return counted


@pytest.mark.parametrize("line", MANY.values(), ids=MANY)
def test_work_grows_with_the_length_of_a_script_and_not_faster(calls, monkeypatch, line):
    # What is only counted costs less than what is listed, so it is the same in all three.
    monkeypatch.setattr(linting, "MOST_IN_A_STEP", 5)
    # The first time, patterns are compiled as well.
    _, few, more, most = (calls(line, times) for times in (30, 30, 60, 90))
    assert most - more <= 1.15 * (more - few)


def test_the_lines_of_a_script_are_counted_once_for_all_of_its_commands():
    splits = []

    class Counted(str):
        __slots__ = ()

        def split(self, *arguments):
            splits.append(arguments)
            return str.split(self, *arguments)

    source = ("    script: |", *(f"      /opt/x{at} || true" for at in range(50)))
    script = Script("", Location("p.yaml", 1, 13), {"p.yaml": source})
    script.text = Counted("".join(f"{line.strip()}\n" for line in source[1:]))
    places = [script.place(it) for it in script.commands if it.program != "true"]
    assert [(it.line, it.column) for it in places] == [(line, 7) for line in range(2, 52)]
    assert splits == [("\n",)]


def findings(read, line, times):
    playbook = written(read, line, times)
    return linting.review(playbook, render_alone(playbook).playbook)


def test_of_very_many_findings_of_a_rule_in_a_step_the_first_are_listed_and_the_others_counted(read):
    most = linting.MOST_IN_A_STEP
    outcome = findings(read, "/opt/x{n} || true; reboot", most + 25)
    for code in ("SP160", "SP174"):
        found = [it for it in outcome.findings if it.code == code]
        assert [it.at.line for it in found] == [*range(8, 9 + most)]
        assert found[-1].summary.startswith(f"and 25 more of {code} from here on")
        assert found[-1].step == "one"
    assert len(findings(read, "reboot # {n}", most).findings) == most


def test_findings_that_are_only_counted_are_answered_as_well(read):
    most = linting.MOST_IN_A_STEP
    outcome = findings(read, "reboot # stackplan: ignore[SP174] the lab's node", most + 25)
    assert outcome.findings == ()
    assert len(outcome.ignored) == most + 1
    assert "25 more" in outcome.ignored[-1].diagnosis.summary
