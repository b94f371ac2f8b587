"""Failures that errexit does not hear: where a status is asked for, and in a shell that was started without it."""

import pytest

A_FUNCTION = "f() { /opt/a; /opt/b; }\n"
RETRY = 'retry() { local n; for n in 1 2 3; do "$@" && return 0; sleep 5; done; return 1; }\n'
LOST = [
    f"{A_FUNCTION}f || exit 1",
    f"{A_FUNCTION}f && touch /x",
    f"{A_FUNCTION}if f; then touch /x; fi",
    f"{A_FUNCTION}if ! f; then exit 1; fi",
    f"{A_FUNCTION}! f",
    f"{A_FUNCTION}until f; do sleep 5; done",
    f"{A_FUNCTION}f 3 | tee /srv/log || exit 1",
    f"{A_FUNCTION}g() {{ f && touch /x; }}\ng",
    f"{A_FUNCTION}g() {{ f || return 1; }}\ng || exit 1",
    "f() { pip install x; echo done; }\nf || exit 1",
    "f() {\n  set -e\n  /opt/a\n  /opt/b\n}\nf || { echo failed >&2; exit 1; }",
    "f() { if test -e /srv/a; then /opt/a; fi; touch /x; }\nf || exit 1",
    "f() { for it in a b; do /opt/a $it; done; }\nf || exit 1",
    "g() { f; }\nf() { /opt/a; /opt/b; }\ng || exit 1",
    "{ /opt/a; /opt/b; } || exit 1",
    "(cd /srv; /opt/a; /opt/b) || exit 1",
    "if { /opt/a; /opt/b; }; then touch /x; fi",
    "for it in a b; do /opt/x $it; done || exit 1",
    "bash -c '/opt/a; /opt/b'",
    "bash -lc '/opt/a\n/opt/b'",
    "sudo sh -c 'pip install x; systemctl restart y'",
    "ssh n2 '/opt/a; /opt/b'",
    "ssh n2 <<END\n/opt/a\n/opt/b\nEND",
    "docker exec x bash -c '/opt/a; /opt/b'",
    "docker run --rm x sh -c '/opt/a; echo done'",
    "kubectl -n gpu exec -it p -c main -- sh -c '/opt/a; /opt/b'",
    "nsenter -t 1 -m -u -- sh -c '/opt/a; /opt/b'",
    "su - ops -c '/opt/a; /opt/b'",
    # What a function of the script is given to run.
    f"{RETRY}{A_FUNCTION}retry f",
    f"{A_FUNCTION}{RETRY}retry 3 f --quiet\ntouch /x",
    f"{RETRY}f() {{ make; make install; echo built; }}\nretry f",
    f"{RETRY}f() {{ /opt/a; /opt/b; }}\ng() {{ f; }}\nretry g",
    f'again() {{ until timeout 60 "$@"; do sleep 5; done; }}\n{A_FUNCTION}again f',
    f'quiet() {{ if ! "$@" > /dev/null; then exit 1; fi; }}\n{A_FUNCTION}quiet f',
    "srun -N1 bash -c '/opt/a; /opt/b'",
    "sbatch --wait --wrap '/opt/a; /opt/b'",
    "apptainer exec --nv x.sif sh -c '/opt/a; /opt/b'",
    "chroot /mnt/image /bin/bash -c '/opt/a; /opt/b'",
    "unshare -m sh -c '/opt/a; /opt/b'",
    "parallel '/opt/a {}; /opt/b {}' ::: x y",
    "ansible all -m shell -a '/opt/a; /opt/b'",
    # What bash goes on in without -e.
    "x=$(/opt/a; /opt/b)\necho $x",
    "x=`/opt/a; echo done`",
    "x=$(cd /srv; make; make install)",
    f"{A_FUNCTION}x=$(f)",
    f'{A_FUNCTION}[ "$(f)" = done ] || exit 1',
    'f() { local x; x=$(/opt/a --quiet; /opt/b); echo "$x"; }\nf',
    'f() { set -x; /opt/a; date; }\necho "it gave $(f)"',
    # What stands last, or in the middle, tells nothing of the work.
    "ssh n2 'make; hostname'",
    "ssh n2 'make; nvidia-smi -L'",
    "ssh n2 'tar -xf /srv/a.tar -C /opt; ls /opt'",
    "ssh n2 'make; df -h /srv | sort'",
    "ssh n2 'make install; ldconfig'",
    "ssh n2 'make; systemctl is-active x; echo done'",
    "ssh n2 'make; docker images'",
    "ssh n2 'make; test -x /opt/a && echo made; date'",
    "ssh n2 'make; if test -x /opt/a; then echo made; fi'",
    "bash -c 'make; wait'",
    "bash -c 'make\necho done'",
    "f() { make; uptime; }\nf || exit 1",
    "f() { make; (( n++ )); }\nf || exit 1",
]
HEARD = [
    f"{A_FUNCTION}f",
    f"{A_FUNCTION}f\nrc=$?\nexit $rc",
    f"{A_FUNCTION}touch /x && f",
    "f() { /opt/a || return 1; /opt/b || return 1; touch /x; }\nf || exit 1",
    "f() { /opt/a && /opt/b && touch /x; }\nf || exit 1",
    "f() { /opt/a; }\nf || exit 1",
    "f() { for i in 1 2 3; do /opt/a && return 0; sleep 5; done; return 1; }\nf || exit 1",
    'retry() { local i; for i in 1 2 3; do "$@" && return; sleep "$i"; done; return 1; }\nretry /opt/a || exit 1',
    "f() { make -C /srv; test -x /srv/x; }\nf || exit 1",
    "f() { /opt/a; local rc=$?; echo ended; return $rc; }\nf || exit 1",
    "f() { rm -f /srv/x; mkdir -p /srv/y; grep -q x /srv/z; }\nif f; then touch /x; fi",
    "f() { echo looking; systemctl is-active x; }\nf || exit 1",
    "f() { f || f; }\nf || exit 1",
    "{ cd /srv && /opt/a; } || exit 1",
    "if { test -e /srv/a; /opt/b; }; then touch /x; fi",
    "bash -ec '/opt/a; /opt/b'",
    "bash -c 'set -euo pipefail; /opt/a; /opt/b'",
    "bash -c '/opt/a && /opt/b'",
    "bash -c 'cd /srv; exec /opt/a'",
    "ssh n2 'set -e; /opt/a; /opt/b'",
    "ssh n2 'cd /srv; git rev-parse HEAD'",
    "ssh n2 /opt/a",
    "ssh n2 bash -es <<END\n/opt/a\n/opt/b\nEND",
    "docker exec x bash -ec '/opt/a; /opt/b'",
    "docker exec x systemctl is-active y",
    "watch -n 5 '/opt/a; /opt/b'",
    "timeout 60 bash -c 'until test -e /srv/x; do sleep 1; done'",
    f"{RETRY}f() {{ /opt/a && /opt/b; }}\nretry f",
    f"{RETRY}f() {{ /opt/a || return 1; /opt/b || return 1; echo built; }}\nretry f",
    f"{RETRY}f() {{ /opt/a; }}\nretry f",
    f"{RETRY}f() {{ make; test -x /opt/a; }}\nretry f",
    f"{RETRY}retry /opt/a",
    f'timed() {{ local from=$SECONDS; "$@"; echo $((SECONDS - from)); }}\n{A_FUNCTION}timed f',
    "srun -N2 bash -c 'hostname; nvidia-smi -L'",
    "srun -w n2 --exclusive sh -c 'set -e; modprobe nvidia_peermem; /opt/a'",
    "apptainer exec x.sif sh -ec '/opt/a; /opt/b'",
    "parallel '/opt/a {} && /opt/b {}' ::: x y",
    "x=$(/opt/a)",
    "x=$(set -e; /opt/a; /opt/b)",
    "x=$(/opt/a && /opt/b)",
    "x=$(/opt/a > /srv/log 2>&1; echo $?)\ntest $x -eq 0",
    'here=$(cd "$(dirname "$0")"; pwd)',
    "release=$(. /etc/os-release; echo $VERSION_ID)",
    "x=$(hostname; uname -r; cat /srv/x)",
    "shopt -s inherit_errexit\nx=$(/opt/a; /opt/b)",
    f"shopt -s inherit_errexit\n{A_FUNCTION}x=$(f)",
    'f() { local x=$1; echo "$x" | tr a-z A-Z; }\nx=$(f a)',
    "ssh n2 'make; ls /opt/a/bin/x'",
    "ssh n2 'make; test -x /opt/a'",
    "ssh n2 'make; df -h /srv | grep -q mapper'",
    "ssh n2 'make; systemctl is-active x'",
    "ssh n2 'modprobe nvidia; nvidia-smi -L'",
    "ssh n2 '/opt/driver/install; nvidia-smi'",
    "ssh n2 'make; test -x /opt/a || exit 1; date'",
    "ssh n2 'make; if ! test -x /opt/a; then exit 1; fi; hostname'",
    "ssh n2 'make; until test -x /opt/a; do sleep 1; done; hostname'",
    "ssh n2 'make; [ -x /opt/a ] || { echo none >&2; exit 1; }; uptime'",
    "ssh n2 'hostname; nvidia-smi -L; df -h; uptime'",
    "f() { make; (( n > 3 )); }\nf || exit 1",
    'log() { echo "$(date) $*"; }\nf() { log making; make; }\nf || exit 1',
]


def test_what_a_script_goes_on_after_is_found(spelled):
    assert spelled.scripts(LOST, "SP160") == LOST


def test_what_ends_a_script_is_left_alone(spelled):
    assert spelled.scripts(HEARD, "SP160") == []


ONCE = {
    "f() { /opt/a; /opt/b; }\nf || exit 1\nif f; then touch /x; fi": "f || …",
    "if ! ( set -e; cd /srv/app; make; make install ); then exit 1; fi": "! ( … )",
    "if ! { make; make install; }; then exit 1; fi": "! { … }",
    "if { make; make install; } && test -e /x; then touch /y; fi": "{ … } && …",
    "while ! ( make; make install ); do sleep 5; done": "! ( … )",
    "if ( make; make install ); then touch /y; fi": "if ( … )",
}


@pytest.mark.parametrize(("text", "within"), ONCE.items(), ids=range(len(ONCE)))
def test_each_command_is_told_of_once(review, text, within):
    script = "".join(f"        {line}\n" for line in text.splitlines())
    found = review(
        f"  - id: one\n    run:\n      script: |\n{script}    postconditions: [{{file: {{path: /x}}}}]\n"
    ).findings
    assert [(it.code, it.summary) for it in found] == [
        ("SP160", f"`set -e` is off within `{within}`: where this fails, what stands behind it runs")
    ]


@pytest.mark.parametrize("size", [1000])
def test_a_chain_of_functions_ends(codes_of_script, size):
    lines = [f"f{at}() {{ f{at + 1}; /opt/x; f{at + 1}; }}" for at in range(size)]
    assert codes_of_script("\n".join([*lines, "f0 || exit 1"])) == ["SP160"]
