"""What is looked at on the way to a failure may fail as well; what the script goes on behind may not."""

LOST = [
    "/opt/x || true\ntouch /x",
    "/opt/x || true\nexit 0",
    "rc=0\n/opt/a || rc=$?\n/opt/x || true\nexit $rc",
    "if [ -e /srv/x ]; then /opt/x || true; fi\ntouch /x",
    "/opt/a || { apt-get install -y numactl || true; exit 1; }",
    "/opt/a || { pip install torch || true; exit 1; }",
    "/opt/a || { dnf install -y numactl || true; exit 1; }",
    "/opt/x || true\ntest -e /srv/x && exit 0\nexit 1",
    "for it in 1 2; do /opt/x || true; test -e /srv/x && break; exit 1; done",
    "f() { /opt/x || true; test -e /srv/x && return 0; return 1; }\nf",
    "f() { /opt/x || true; exit $rc; }\nf",
    "/opt/a || { /opt/x || true; exit; }",
    "f() { for it in 1 2; do /opt/x || true; /opt/y && return; done; return 1; }\nf",
    "/opt/a && { /opt/x || true; exit $rc; }",
    "fail() { exit 0; }\n/opt/a || { /opt/x || true; fail; }",
]
DIAGNOSES = [
    "/opt/a || { lfs df -h >&2 || true; /opt/x || true; exit 1; }",
    '/opt/a || {\n  rc=$?\n  /opt/x --all || true\n  echo failed >&2\n  exit "$rc"\n}',
    "if ! /opt/a; then\n  nvidia-bug-report.sh --output-file /srv/bug.log || true\n  exit 1\nfi",
    "if /opt/a; then touch /x; else sosreport --batch || true; exit 2; fi",
    "fail() { /opt/x >&2 || true; exit 1; }\n/opt/a || fail",
    'fail() { echo "$1" >&2; /opt/x || true; return 1; }\n/opt/a || fail no',
    'die() { /opt/x || true; exit "${1:-1}"; }\n/opt/a || die 3',
    'fail() { local rc=$?; /opt/x || true; exit "$rc"; }\n/opt/a || fail',
    "fail() { exit 1; }\n/opt/a || { /opt/x || true; fail; }",
    "/opt/a || { /opt/x || true; false; }",
    "/opt/a || { /opt/x || true; echo failed >&2 && exit 1; }",
    "if ! /opt/a; then\n  if command -v lfs; then lfs df || true; fi\n  exit 1\nfi",
    "if ! /opt/a; then\n  for it in 0 1; do /opt/x $it || true; done\n  exit 1\nfi",
    "case $(cat /srv/state) in bad) /opt/x || true; exit 1 ;; esac",
]


def test_what_the_script_goes_on_behind_or_installs_is_found(spelled):
    assert spelled.scripts(LOST, "SP160") == LOST


def test_a_diagnosis_before_a_failure_is_left_alone(spelled):
    assert spelled.scripts(DIAGNOSES, "SP160") == []
