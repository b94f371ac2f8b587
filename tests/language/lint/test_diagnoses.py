"""What only looks, takes away or sends word may fail, as may a diagnosis before a failure; the work may not."""

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
    "zpool scrub tank || true",
    "docker image pull a:1 || true",
    "crictl pull a:1 || true",
    "git -C /srv/src pull || true",
    "openssl req -new -key /srv/k -out /srv/c || true",
    "ethtool -K eth0 gro off || true",
    "mokutil --import /srv/k.der || true",
    "aws s3 cp s3://bucket/model.tar /srv/ || true",
    "docker compose -f /srv/c.yaml up -d || true",
    "ssh-keygen -t ed25519 -f /srv/k || true",
    "find /srv -name '*.run' -exec /opt/x {} + -delete || true",
    "curl -fsS -d '{}' http://localhost:30000/v1/load || true",
    "curl -fsS -X POST -d '{}' -o /dev/null https://api.example.com/v1/pool/enable || true",
    "curl -fsS -T /srv/report https://hooks.example.com/x || true",
    "curl -fsS -o /srv/answer -d x https://hooks.example.com/x || true",
    "if python3 -c 'import x; x.build()'; then echo built; else echo failed; fi",
    "python3 -c 'import torch' || true",
    "if /opt/x | tee /srv/log; then echo done; else echo failed; fi",
    "if /opt/x | grep ok > /srv/log | /opt/y; then echo done; else echo failed; fi",
    "if zfs create tank/x; then echo made; else echo failed; fi",
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
QUESTIONS = [
    *(f"if {it} >/dev/null 2>&1; then echo there; else echo absent; fi" for it in (
        "docker image inspect a:1", "docker --context b volume ls", "podman volume exists x",
        "git -C /srv/src diff --quiet",
        "openssl x509 -checkend 86400 -noout -in /etc/ssl/a.pem", "python3 -c 'import torch'",
        "python3 -c 'from torch import nn'", "zfs list tank/scratch", "zpool status tank", "blkid /dev/nvme1n1",
        "virsh dominfo vm1", "vgs vg0", "chronyc tracking", "aws s3 ls s3://bucket/model.tar",
        "aws --region x ec2 describe-instances", "crictl inspecti a:1", "kubectl -n gpu get pod x",
        "systemctl list-unit-files irqbalance.service", "mokutil --sb-state", "ethtool eth0", "dkms status",
    )),
    "if getcap /usr/bin/ping | grep -q net_raw; then echo cap; else echo nocap; fi",
    "if /opt/x --state | grep -qi ready; then echo ready; else echo no; fi",
    "if ! /opt/x --state | grep ready > /dev/null; then echo no; fi",
    "zpool status tank || true",
]  # fmt: skip
NOTICES = [
    "curl -fsS -m 5 -X POST -d '{}' https://hooks.example.com/T1 || true",
    "curl -fsS --json '{}' https://x.example.com/webhook/7 > /dev/null || true",
    "curl -fsS -m 5 -o /dev/null https://hc-ping.example.com/abc/start || true",
    "wget -qO /dev/null https://x.example.com/ping/7 || true",
    "printf begin | mail -s upgrade ops@example.com || true",
    "docker compose -f /srv/old/compose.yaml down --volumes || true",
    "ssh-keygen -R old-node || true",
    "ssh-keygen -f /srv/known_hosts -R old-node || true",
    "find /var/crash -name '*.crash' -delete || true",
]


def test_what_only_looks_is_a_question(spelled):
    assert spelled.scripts(QUESTIONS, "SP160") == []


def test_notices_and_removals_may_fail(spelled):
    assert spelled.scripts(NOTICES, "SP160") == []


def test_what_the_script_goes_on_behind_or_installs_is_found(spelled):
    assert spelled.scripts(LOST, "SP160") == LOST


def test_a_diagnosis_before_a_failure_is_left_alone(spelled):
    assert spelled.scripts(DIAGNOSES, "SP160") == []
