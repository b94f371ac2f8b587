"""Conditions that believe what a tool says of itself, and those that only look like it."""

BELIEVED = [
    "command: {run: \"apt-get -s install numactl | grep -q 'already the newest'\"}",
    "command: {run: '~/e/bin/pip show torch', stdout: {contains: 2.10.0}}",
    "command: {run: \"~/e/bin/python -m pip list | grep '^torch '\"}",
    "command: {run: 'uv pip freeze --python ~/e/bin/python', stdout: {contains: torch}}",
    "command: {run: '~/e/bin/python -m pip check'}",
    "command: {run: 'dpkg -l numactl | grep -q ^ii'}",
    "command: {run: \"dpkg --list | awk '/^ii/ {print $2}'\", stdout: {contains: numactl}}",
    "command: {argv: [dpkg, -l, numactl], stdout: {matches: '(?m)^ii'}}",
]
READ = [
    "command: {run: 'pip --version', stdout: {contains: pip}}",
    "command: {run: 'uv tool list', stdout: {contains: ruff}}",
    "command: {run: 'grep -c pip /srv/show'}",
    "command: {run: 'dpkg -L numactl | grep -q bin/numactl'}",
    "command: {run: \"dpkg-query -W -f='${Version}' numactl\", stdout: {equals: 2.0.18}}",
    "command: {run: 'dpkg -l numactl | grep -q ^rc'}",
    "command: {run: 'conda list'}",
]


def test_what_an_installer_says_or_wrote_down_is_no_proof(spelled):
    assert spelled.conditions(BELIEVED, "SP136") == BELIEVED


def test_what_looks_at_the_state_is_left_alone(spelled):
    assert spelled.conditions(READ, "SP136") == []
