"""Commands that another program takes out of the script, so that nobody hears how they end."""

DETACHED = [
    "screen -dmS burn /opt/x --gpu all",
    "screen -d -m -S burn bash -c /opt/x",
    "tmux new-session -d -s burn /opt/x",
    "tmux new -ds burn '/opt/x | tee /srv/log'",
    "if test -e /srv/x; then tmux new -d -s burn /opt/x; fi",
    "daemonize /opt/x",
    "start-stop-daemon --start --background --exec /opt/x",
]
NOT_DETACHED = [
    "screen -ls || true",
    "tmux kill-session -t burn || true",
    "tmux new-session -d -s burn /opt/x\nsleep 5\ntmux ls | grep -q burn",
    "screen -dmS burn /opt/x\nuntil test -e /srv/ready; do sleep 1; done",
    "setsid --wait /opt/x",
    "setsid /opt/x",
]


def test_what_is_sent_away_is_found(spelled):
    assert spelled.scripts(DETACHED, "SP162") == DETACHED


def test_what_stays_or_is_looked_after_is_left_alone(spelled):
    assert spelled.scripts(NOT_DETACHED, "SP162") == []
