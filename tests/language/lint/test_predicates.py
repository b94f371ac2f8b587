"""A function that answers with its status is a question, as what it asks is; one that works is none."""

import pytest

ASKING = [
    "on_slurm() { [ -e /etc/slurm/slurm.conf ]; }\non_slurm && /opt/slurm/setup\ntouch /srv/done",
    "on_slurm() { [ -e /etc/slurm/slurm.conf ]; }\non_slurm || exit 0\n/opt/slurm/setup",
    'have() { command -v "$1" >/dev/null 2>&1; }\nhave nvidia-smi && /opt/setup\ntouch /srv/done',
    "switched() { lspci -d 10de: | grep -qi nvswitch; }\nswitched && /opt/fabric/setup\ntouch /srv/done",
    "gpu() { case $(hostname) in gpu-*) return 0 ;; *) return 1 ;; esac; }\ngpu && /opt/setup\ntouch /srv/done",
    'up() { curl -fsS -o /dev/null http://localhost:8000/health; }\nup && echo "already up"\n/opt/serve',
    "a() { test -e /srv/a; }\nb() { test -e /srv/b && a; }\nb && /opt/setup\ntouch /srv/done",
    'valid() { test -s "$1" || return 1\n [ -r "$1" ]; }\nvalid f.json && echo ok\n/opt/setup',
]
WORKING = [
    "f() { make install; }\nf && /opt/setup\ntouch /srv/done",
    "f() { make install || return 1; return 0; }\nf && /opt/setup\ntouch /srv/done",
    "f() { make install; test -e /srv/x; }\nf || true\ntouch /srv/done",
]
ASKED_EACH = [
    'set +e\n/opt/bench 2>&1 | tee /srv/log\nrc=${PIPESTATUS[0]}\nset -e\n((rc == 0)) || exit "$rc"',
    'set +e\n/opt/bench | tee /srv/log\nst=("${PIPESTATUS[@]}")\nset -e\n[ "${st[0]}" -eq 0 ] || exit 1',
    'set +o pipefail\n/opt/bench | tee /srv/log\nrc=${PIPESTATUS[0]}\nset -o pipefail\nexit "$rc"',
]


def test_a_function_that_asks_is_a_question(spelled):
    assert spelled.scripts(ASKING, "SP160") == []


def test_a_function_that_works_is_none(spelled):
    assert spelled.scripts(WORKING, "SP160") == WORKING


def test_a_pipe_whose_statuses_are_looked_at(spelled):
    assert spelled.scripts(ASKED_EACH, "SP160") == []
    assert spelled.scripts(ASKED_EACH, "SP162") == []


def test_what_only_tidies_up_or_looks_may_fail(spelled):
    scripts = [
        "trap 'collect || true' ERR\n/opt/setup",
        "trap 'rc=$?; collect || true; exit $rc' EXIT\n/opt/setup",
        "find /srv -type f | { ! grep -q core; }\n/opt/setup",
        "shutdown -c || true\n/opt/setup",
        "ssh -S /run/ctl -O exit gpu-01 || true\n/opt/setup",
        "systemctl --user stop notebook || true\n/opt/setup",
        "vgchange -an scratch || true\n/opt/setup",
        "git branch -D tmp || true\n/opt/setup",
        "ssh -n gpu-01 'nvidia-smi -L; nvidia-smi topo -m; nvidia-smi nvlink -s'",
        "ssh -n gpu-01 'lsblk -f; mount | column -t; smartctl -a /dev/nvme0n1'",
    ]
    assert spelled.scripts(scripts, "SP160") == []


def test_a_search_that_nothing_can_satisfy_is_the_check(spelled):
    assert spelled.scripts(["bash -eu -c '/opt/agent --version | grep -qF 2.4'"], "SP162") == []
    lost = ["bash -eu -c '/opt/agent --install | tee /srv/log'"]
    assert spelled.scripts(lost, "SP162") == lost


@pytest.mark.parametrize(
    "script", ["case $s in a) ;; *) exit 1 ;; esac", "case $s in a) ;; esac\ncurl", "if curl; then :; fi", "f() { }"]
)
def test_what_is_empty_is_no_trouble(codes_of_script, script):
    assert not {"SP160", "SP162"} & set(codes_of_script(script))
