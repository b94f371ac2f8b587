"""What a function passes over is a diagnosis where nothing calls it but a branch that ends with a failure."""

NOTE = "note() { nvidia-bug-report.sh || true; }\n"
ONLY_BEHIND_FAILURES = [
    f"{NOTE}/opt/t/a || {{ note; exit 1; }}\n/opt/t/b || {{ note; exit 1; }}",
    f"{NOTE}if ! /opt/t/a; then\n  note\n  exit 1\nfi",
    f"{NOTE}if /opt/t/a; then echo well; else note; exit 1; fi",
    f"{NOTE}die() {{ echo no >&2; exit 1; }}\n/opt/t/a || {{ note; die; }}",
    f"{NOTE}failed=0\n/opt/t/a || {{ failed=1; note; }}\nexit $failed",
    f"{NOTE}all() {{ note; note; }}\n/opt/t/a || {{ all; exit 1; }}",
    f"{NOTE}for t in a b; do /opt/t/$t || {{ note $t; exit 1; }}; done",
    f"{NOTE}trap note ERR\n/opt/t/a || {{ note; exit 1; }}\n/opt/t/b",
    f"{NOTE}trap 'note; echo $LINENO' ERR\n/opt/t/a || {{ note; exit 1; }}\n/opt/t/b",
    "restore() { /opt/t/restore || echo no >&2; }\nif ! /opt/t/a; then restore; exit 1; fi",
    "restore() { if ! /opt/t/restore; then echo no >&2; fi; }\n/opt/t/a || { restore; exit 1; }",
    "collect() {\n  ssh $1 /opt/t/c || return 0\n  scp $1:/c /srv/ || return 0\n}\n/opt/t/a || { collect n; exit 1; }",
    "collect() { for n in a b; do ssh -n $n /opt/t/c || continue; done; }\n/opt/t/a || { collect; exit 1; }",
    "collect() { set +e; /opt/t/c; /opt/t/d; }\n/opt/t/a || { collect; exit 1; }",
    "collect() { cd /srv && /opt/t/c; /opt/t/d; }\n/opt/t/a || { collect; exit 1; }",
    "/opt/t/a || { set +e; /opt/t/c; /opt/t/d; exit 1; }",
    "back() {\n  set +e\n  /opt/t/restore\n  /opt/t/enable\n  set -e\n}\ntrap back ERR\n/opt/t/a\n/opt/t/b",
]
ELSEWHERE_TOO = [
    f"{NOTE}/opt/t/a || {{ note; exit 1; }}\nnote\n/opt/t/b",
    f"{NOTE}/opt/t/a || {{ note; exit 0; }}\n/opt/t/b",
    f"{NOTE}if ! /opt/t/a; then\n  note\nfi\n/opt/t/b",
    f"{NOTE}/opt/t/a || {{ note; exit 1; }}\nall() {{ note; }}\nall\n/opt/t/b",
    f"{NOTE}trap note EXIT\n/opt/t/a || {{ note; exit 1; }}\n/opt/t/b",
    f'{NOTE}/opt/t/a || {{ note; exit 1; }}\nretry() {{ "$@"; }}\nretry note\n/opt/t/b',
    "note() { nvidia-bug-report.sh || true; exit 0; }\n/opt/t/a || { note; exit 1; }\n/opt/t/b",
    "note() { pip install torch || true; }\n/opt/t/a || { note; exit 1; }",
    f"{NOTE}# Nobody calls it.\n/opt/t/a",
    # Bash asks whether errexit is on when the trap has run.
    "back() {\n  set +e\n  /opt/t/restore\n  /opt/t/enable\n}\ntrap back ERR\n/opt/t/a\n/opt/t/b",
    "back() {\n  set -e\n  /opt/t/restore\n  set +e\n  /opt/t/enable\n}\ntrap back ERR\n/opt/t/a\n/opt/t/b",
    "back() { set +e; /opt/t/restore; set -e; }\ntrap back ERR\n/opt/t/a\nset +e\n/opt/t/b\nset -e",
    "/opt/t/a || { trap 'exit 0' EXIT; /opt/t/c; exit 1; }",
]


def test_a_function_that_only_diagnoses_may_fail(spelled):
    assert spelled.scripts(ONLY_BEHIND_FAILURES, "SP160") == []


def test_a_function_that_is_called_elsewhere_may_not(spelled):
    assert spelled.scripts(ELSEWHERE_TOO, "SP160") == ELSEWHERE_TOO
