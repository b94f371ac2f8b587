"""Postconditions that hold on every node, in every way in which that can be written."""

TEXTS = {
    "SP130": (
        [
            "true",
            "/bin/true",
            ":",
            "exit 0",
            "echo ok",
            "/opt/check || true",
            "/opt/check || :",
            "/opt/check || echo failed",
            "/opt/check || exit 0",
            "/opt/check || { echo no; true; }",
            "(/opt/check || true)",
            "{ /opt/check || true; }",
            "bash -c '/opt/check || true'",
            "sh -c '/opt/check; true'",
            "if /opt/check; then echo ok; fi",
            "/opt/check &",
            "! false",
            "[ 1 -eq 1 ]",
            "test -d /",
            "test -n x",
            "date",
            "uname -r",
            "/opt/check || /bin/true",
            "/opt/check && echo ok || echo no",
            "true && true",
            "/opt/a || true; /opt/b || true",
            "! exit 1",
            "sudo true",
            "test 1 = 1",
            '/opt/check || printf "no\\n"',
            "sleep 5",
            "set +e; /opt/check; true",
        ],
        [
            "/opt/check",
            "/opt/check; true",
            "/opt/check && true",
            "/opt/check && echo ok",
            "if /opt/check; then echo ok; else exit 1; fi",
            "test -d /srv/x",
            '[ -n "$X" ]',
            "/opt/a || /opt/b",
            "! /opt/check",
            "echo $X > /srv/x",
            "/opt/check | cat",
            "hostname -f",
            "sleep 5 && /opt/check",
            "command -v nvcc",
            "for i in 1 2; do /opt/check; done",
            "/opt/check || { echo no; exit 1; }",
            "! grep -q x /etc/y",
            'test "$(cat /x)" = y',
            "/opt/check || (echo no; false)",
            "[ -e /tmp/x ]",
            "while ! /opt/check; do sleep 1; done",
            "id sglang",
            "X=$(/opt/check)",
            "true | /opt/check",
        ],
    ),
}

CONDITIONS = {
    "SP130": (
        [
            'command: {argv: ["true"]}',
            'command: {argv: [bash, -c, "/opt/x || true"]}',
            'command: {run: "echo ok", stdout: ok}',
            'command: {run: "echo ready", stdout: {contains: ready}}',
            'command: {run: "false", exit_code: 1}',
            'not: {command: {run: "false"}}',
            'command: {run: "echo x", stdout: {matches: "^"}}',
            'command: {run: "echo x", stdout: {matches: "(.*)"}}',
            "disk: {path: /srv, free: 0B}",
            "disk: {path: /srv, free: 0.0GiB}",
            "file: {path: /tmp}",
            "file: {path: /etc/, type: directory}",
            'file: {path: /x, content: {matches: "[\\\\s\\\\S]*"}}',
            'torch: {venv: ~/e, version: ">=0"}',
            'torch: {venv: ~/e, version: ">=0.0.dev0"}',
            'apt_package: {name: x, version: ">0"}',
            'file: {path: /x, content: {contains: ""}}',
            'any: [{command: {run: "true"}}, {file: {path: /x}}]',
        ],
        [
            'command: {run: "/opt/check", stdout: {matches: ".*"}}',
            'command: {run: "echo $X", stdout: ok}',
            'command: {run: "cat /x || true", stdout: {contains: ready}}',
            "disk: {path: /srv, free: 1GiB}",
            "file: {path: /tmp/x}",
            'file: {path: /tmp, mode: "1777"}',
            "file: {path: /etc, exists: false}",
            'torch: {venv: ~/e, version: ">=2.0"}',
            'command: {run: "/opt/check || true", exit_code: 1}',
            'not: {command: {run: "true"}}',
            "not: {file: {path: /tmp/x}}",
            'file: {path: /x, content: {matches: ".+"}}',
            'package: {venv: ~/e, name: x, version: ">=0.1"}',
            'command: {run: "echo x", stdout: {matches: "{{ unknown }}"}}',
        ],
    ),
}


def test_a_text_that_always_ends_with_0(spelled):
    found, silent = TEXTS["SP130"]
    quoted = {it: f"command: {{run: '{it.replace(chr(39), chr(39) * 2)}'}}" for it in (*found, *silent)}
    assert spelled.conditions([quoted[it] for it in found], "SP130") == [quoted[it] for it in found]
    assert spelled.conditions([quoted[it] for it in silent], "SP130") == []


def test_a_condition_that_cannot_fail(spelled):
    found, silent = CONDITIONS["SP130"]
    assert spelled.conditions(found, "SP130") == found
    assert spelled.conditions(silent, "SP130") == []
