"""Secrets that a script reads from a file and hands on as a word."""

SHOWN = [
    'T=$(cat /run/secrets/token)\n/opt/x --token "$T"',
    'curl -H "Authorization: Bearer $(cat /run/secrets/token)" https://a.example.com -o /dev/null',
    "mysql -p\"$(cat /run/secrets/db)\" -e 'select 1'",
    "/opt/x --password=$(< /etc/x/password)",
    "/opt/x --key `cat ~/.config/api-key`",
    "hf auth login --token $(cat ~/.cache/huggingface/token)",
    "/opt/x --token $(vault kv get -field=token secret/x)",
    'env HF=1 /opt/x -t "$(cat /etc/hf_token)"',
    'get() { /opt/x --token "$1"; }\nget "$(cat /run/secrets/token)"',
]
KEPT = [
    "HF_TOKEN=$(cat /run/secrets/token)\nexport HF_TOKEN\n/opt/x --from-env",
    'HF_TOKEN="$(cat /run/secrets/token)" /opt/x',
    'test -n "$(cat /run/secrets/token)"',
    'printf %s "$(cat /run/secrets/token)" | docker login -u robot --password-stdin r.example.com',
    "docker login -u robot --password-stdin r.example.com < /run/secrets/token",
    "chmod 600 /run/secrets/token",
    "/opt/x --token-file /run/secrets/token",
    'T=$(cat /run/secrets/token)\n/opt/x --token-file <(printf %s "$T")',
    'T=$(cat /run/secrets/token)\n/opt/x --digest "$(printf %s "$T" | sha256sum)"',
    "/opt/x --digest $(cat /run/secrets/token | sha256sum)",
    'login() { printf %s "$1" | docker login --password-stdin r; }\nlogin "$(cat /run/secrets/token)"',
    "/opt/x --limit $(cat /srv/max_tokens)",
    "kill $(cat /run/token-service.pid)",
    "/opt/x --count $(cat /srv/tokenizer.json | wc -l)",
]


def test_a_secret_out_of_a_file_is_seen_on_a_command_line(spelled):
    assert spelled.scripts(SHOWN, "SP191") == SHOWN


def test_a_secret_that_stays_off_command_lines_is_left_alone(spelled):
    assert spelled.scripts(KEPT, "SP191") == []


def test_a_condition_shows_it_as_well(spelled):
    shown = ["command: {run: 'curl -fsS -u x:$(cat /run/secrets/db) https://a.example.com/'}"]
    assert spelled.conditions([*shown, "command: {run: 'test -s /run/secrets/db'}"], "SP191") == shown
