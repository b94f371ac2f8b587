"""Lines of `&&` that stop half way, and the script that goes on behind them."""

LOST = [
    "cd /srv/x && make install\ntouch /srv/done",
    "cd /srv/x && ./configure && make install; touch /srv/done",
    "/opt/a && /opt/b\n/opt/c",
    "if true; then\n  cd /srv/x && make install\n  touch /srv/done\nfi",
]
HEARD = [
    "cd /srv/x && make install",
    "cd /srv/x\nmake install\ntouch /srv/done",
    "touch /srv/begun\ncd /srv/x && make install",
    "(cd /srv/x && make install)\ntouch /srv/done",
    "test -e /srv/x && /opt/b\n/opt/c",
    "[ -f /srv/x ] && rm /srv/x\n/opt/c",
    "command -v numactl >/dev/null && /opt/b\n/opt/c",
    "cd /srv/x && make install || exit 1\ntouch /srv/done",
    "if cd /srv/x && make install; then touch /srv/done; fi\ntouch /srv/y",
    'cd /srv/x && make install\nrc=$?\nexit "$rc"',
    "cd /srv/x && ls\n/opt/c",
]


def test_a_line_that_stops_half_way_is_found(spelled):
    assert spelled.scripts(LOST, "SP160") == LOST


def test_a_line_whose_failure_is_heard_of_is_left_alone(spelled):
    assert spelled.scripts(HEARD, "SP160") == []
