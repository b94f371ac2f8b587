"""Failures that a script passes over in its loops, or shows and then forgets."""

PASSED_OVER = [
    "for i in 1 2 3; do /opt/x && break; done\ntouch /x",
    "for i in 1 2 3; do\n  /opt/x && break\n  sleep 5\ndone",
    "for i in 1 2 3; do if /opt/x; then break; fi; sleep 5; done\ntouch /x",
    "for i in $(seq 5); do /opt/x && { echo done; break; }; sleep 1; done\ntouch /x",
    "for ((i = 0; i < 3; i++)); do timeout 60 /opt/x && break; sleep 1; done\ntouch /x",
    "for it in a b; do /opt/x $it || continue; done",
    "for it in a b; do /opt/x $it || { echo no $it; continue; }; touch /srv/$it; done",
    "while read -r it; do /opt/x $it || continue; done < /srv/list",
    "for it in a b; do if ! /opt/x $it; then echo no; continue; fi; touch /srv/$it; done",
    "/opt/x || tail -n 50 /srv/log",
    "/opt/x || journalctl -u sglang -n 50",
    "/opt/x || { echo failed; dmesg | tail -n 20; }",
    "/opt/x || docker logs sglang",
    "/opt/x || mail -s failed ops < /dev/null",
    "/opt/x || curl -fsS -d failed https://hooks.example.com/x",
    "if ! /opt/x; then tail /srv/log; fi",
]
HEARD_OF = [
    "for i in 1 2 3; do /opt/x && break; done",
    "for i in 1 2 3; do /opt/x && break; [ $i = 3 ] && exit 1; sleep 5; done\ntouch /x",
    "ok=\nfor i in 1 2 3; do /opt/x && ok=1 && break; done\ntest -n $ok",
    "for i in 1 2 3; do /opt/x && break; sleep 5; done\ntest -e /srv/done",
    "for i in 1 2 3; do /opt/x && break; sleep 5; done\n/opt/x",
    'retry() { for i in 1 2 3; do "$@" && return; done; return 1; }\nretry /opt/x',
    "try() { for i in 1 2 3; do /opt/x && break; sleep 1; done; return 1; }\ntry",
    "until /opt/x; do sleep 1; done",
    "while true; do /opt/x && break; sleep 1; done",
    "for it in a b; do [ -d /srv/$it ] || continue; touch /srv/$it/x; done",
    "for it in a b; do cd /srv/$it || continue; touch x; done",
    "failed=0\nfor it in a b; do /opt/x $it || { failed=1; continue; }; done\nexit $failed",
    "while true; do /opt/x || { sleep 5; continue; }; break; done",
    "/opt/x || { tail -n 50 /srv/log; exit 1; }",
    "/opt/x || grep -q already /srv/log",
    "/opt/x || systemctl is-active sglang",
    "driver=$(/opt/x || head -n 1 /srv/driver)\ntest -n $driver",
    "if ! /opt/x; then journalctl -n 50; exit 1; fi",
    "if /opt/x; then touch /x; fi",
    "if systemctl is-active x; then :; fi",
]


def test_what_fails_and_is_passed_over_is_found(spelled):
    assert spelled.scripts(PASSED_OVER, "SP160") == PASSED_OVER


def test_what_somebody_hears_of_is_left_alone(spelled):
    assert spelled.scripts(HEARD_OF, "SP160") == []
