"""`case $?` hears a status; questions before a grep may have no answer, and word may be sent in vain."""

STATUS = [
    "set +e\n/opt/t/a\ncase $? in 0) ;; 3) echo degraded ;; *) exit 1 ;; esac",
    "set +e\ntimeout 60 /opt/t/a\ncase $? in 0) ;; *) exit 1 ;; esac\nset -e\n/opt/t/b",
    'set +o errexit\n/opt/t/a\ncase "$?" in 0) ;; 124) echo timeout >&2; exit 1 ;; *) exit 1 ;; esac',
    "set +e\n/opt/t/a\ncase ${?} in 0) ;; *) exit 1 ;; esac",
    "set +e\n/opt/t/a\nrc=$?\ncase $rc in 0) ;; *) exit 1 ;; esac",
    "rc=0\n/opt/t/a || rc=$?\ncase $rc in 0) ;; *) exit 1 ;; esac",
    "cd /opt/t && /opt/t/a\ncase $? in 0) ;; *) exit 1 ;; esac",
]
UNHEARD = [
    "set +e\n/opt/t/a\ncase $1 in 0) ;; *) exit 1 ;; esac",
    "set +e\n/opt/t/a\n/opt/t/b\ncase $? in 0) ;; *) exit 1 ;; esac",
    "set +e\n/opt/t/a\ntouch /x\ncase $? in 0) ;; *) exit 1 ;; esac",
    "set +e\n/opt/t/a\nfor it in a b; do touch $it; done",
    "cd /opt/t && /opt/t/a\ncase $1 in 0) ;; *) exit 1 ;; esac",
    "rc=0\n/opt/t/a || rc=$?\ncase $other in 0) ;; *) exit 1 ;; esac",
]
QUESTIONS = [
    f"{it} | grep -i x || true"
    for it in (
        "apt-config dump",
        "apt-mark showhold",
        "apt-key list",
        "debconf-show tzdata",
        "dpkg-divert --list",
        "sysctl -a",
        "sysctl -n vm.nr_hugepages",
        "sysctl vm.nr_hugepages",
        "ofed_info -s",
        "mst status",
    )
]
CHANGES = [
    f"{it} | grep -i x || true"
    for it in (
        "apt-mark hold libnccl2",
        "apt-key add /srv/k.asc",
        "dpkg-divert --add /usr/bin/x",
        "sysctl -w vm.nr_hugepages=8",
        "sysctl vm.nr_hugepages=8",
        "sysctl -p /etc/sysctl.d/x.conf",
        "sysctl --system",
        "mst start",
    )
]
WORD = [
    "curl -fsS -X POST -d '{}' \"$SLACK_WEBHOOK\" || true",
    "curl -fsS -m 5 -H 'Content-type: application/json' --data '{}' \"$SLACK_WEBHOOK_URL\" || true",
    'curl -fsS -d "see https://wiki.example.com/x" "${NOTIFY_URL}" || true',
    'curl -fsS -d begin "$NOTIFY_URL/upgrade" || true',
    "echo 'up 1' | curl -fsS --data-binary @- http://push.example.com:9091/metrics/job/upgrade || true",
    "echo 'up 1' | curl -fsS --data-binary @- push.example.com:9091/metrics/job/upgrade || true",
    "echo 'up 1' | curl -fsS --data-binary @- \"$PUSHGATEWAY/metrics/job/upgrade\" || true",
    'curl -fsS -X POST -d \'{"text": "begin"}\' https://grafana.example.com/api/annotations || true',
    'curl -fsS -X POST -d \'{"text": "begin"}\' "$GRAFANA/api/annotations" > /dev/null || true',
]
DEEDS = [
    "curl -fsS -X POST -d '{}' \"$CONTROLLER_URL\" || true",
    'curl -fsS -X POST -d "$SLACK_WEBHOOK" "$CONTROLLER_URL" || true',
    "curl -fsS -X POST -d '{}' \"$UNHOOKED_URL\" || true",
    "curl -fsS -X POST -d '{}' https://grafana.example.com/api/dashboards || true",
    'curl -fsS -o /srv/answer -d x "$SLACK_WEBHOOK" || true',
    'curl -fsS -d x "$SLACK_WEBHOOK" > /srv/answer || true',
    'curl -fsS -T /srv/report "$SLACK_WEBHOOK" || true',
]


def test_a_case_over_the_status_hears_it(spelled):
    assert spelled.scripts(STATUS, "SP160") == []


def test_a_case_over_anything_else_does_not(spelled):
    assert spelled.scripts(UNHEARD, "SP160") == UNHEARD


def test_questions_before_a_grep_may_have_no_answer(spelled):
    assert spelled.scripts(QUESTIONS, "SP160") == []


def test_the_same_programs_may_not_fail_where_they_change_something(spelled):
    assert spelled.scripts(CHANGES, "SP160") == CHANGES


def test_word_is_sent_in_vain(spelled):
    assert spelled.scripts(WORD, "SP160") == []


def test_what_is_asked_of_another_service_is_not_word(spelled):
    assert spelled.scripts(DEEDS, "SP160") == DEEDS
