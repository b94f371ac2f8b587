"""What runs only behind a failure that the script tells of later may fail; where nothing tells of it, it may not."""

import pytest

COLLECT = "/opt/t/collect || true"
NOTED = f"rc=0\n/opt/t/go || rc=$?\nif [ $rc -ne 0 ]; then\n  {COLLECT}\nfi\n"
TOLD = [
    # A failure is noted in a variable.
    f"failed=0\n/opt/t/a || {{ failed=1; {COLLECT}; }}\nexit $failed",
    f"failed=0\n/opt/t/a || {{ {COLLECT}; failed=1; }}\n/opt/t/b || {{ failed=2; {COLLECT}; }}\nexit ${{failed}}",
    f"failed=0\n/opt/t/a || {{ failed=1; {COLLECT}; }}\n[ $failed -eq 0 ]",
    f'failed=0\n/opt/t/a || {{ failed=1; {COLLECT}; }}\ntest "$failed" = 0 || exit 1',
    f"failed=0\n/opt/t/a || {{ failed=1; {COLLECT}; }}\n[ $failed -ne 1 ] || {{ echo no >&2; exit 1; }}",
    f"failed=0\n/opt/t/a || {{ failed=1; {COLLECT}; }}\n/opt/t/b\nif (( failed )); then\n  echo no >&2\n  exit 3\nfi",
    f"failed=0\n/opt/t/a || {{ failed=1; {COLLECT}; }}\nif (( ! failed )); then echo ok; else exit $failed; fi",
    f"n=0\nfor t in a b; do /opt/t/$t || {{ (( n++ )) || true; {COLLECT}; }}; done\n(( n == 0 ))",
    f"n=0\nfor t in a b; do /opt/t/$t || {{ n=$((n + 1)); {COLLECT}; continue; }}; done\n(( n > 0 )) && exit 1",
    f"failed=()\n/opt/t/a || {{ failed+=(a); {COLLECT}; }}\nif [ ${{#failed[@]}} -ne 0 ]; then exit 1; fi",
    f'failed=()\nfor t in a b; do /opt/t/$t || {{ failed+=("$t"); {COLLECT}; }}; done\n(( ${{#failed[@]}} == 0 ))',
    f"failed=()\nfor t in a b; do\n  if ! /opt/t/$t; then failed+=($t); {COLLECT}; fi\ndone\n(( ${{#failed[@]}} < 1 ))",
    f'failed=\nfor t in a b; do /opt/t/$t || {{ failed="$failed $t"; {COLLECT}; }}; done\n[[ -z "$failed" ]]',
    f"ok=true\n/opt/t/a || {{ ok=false; {COLLECT}; }}\n$ok",
    f'ok=yes\n/opt/t/a || {{ ok=no; {COLLECT}; }}\n[ "$ok" = yes ] || exit 1',
    f"if /opt/t/a; then rc=0; else rc=$?; {COLLECT}; fi\nexit $rc",
    f"rc=0\n/opt/t/a || {{ rc=$?; {COLLECT}; }}\nexit $rc",
    f"die() {{ echo no >&2; exit 1; }}\nfailed=0\n/opt/t/a || {{ failed=1; {COLLECT}; }}\n[ $failed -eq 0 ] || die",
    f"main() {{\n  local failed=0\n  /opt/t/a || {{ failed=1; {COLLECT}; }}\n  return $failed\n}}\nmain",
    f"main() {{\n  local failed=0\n  /opt/t/a || {{ failed=1; {COLLECT}; }}\n  (( failed == 0 ))\n}}\nmain",
    f"pip install torch || {{ rc=1; {COLLECT}; }}\nexit ${{rc:-0}}\nrc=0",
    # A function notes it, or a file does.
    f"note() {{ failed=1; }}\nfailed=0\n/opt/t/a || {{ note; {COLLECT}; }}\nexit $failed",
    f"n=0\nnote() {{ echo no >&2; n=$((n + 1)); }}\n/opt/t/a || {{ note; {COLLECT}; }}\n[ $n -eq 0 ]",
    f"failed=()\nnote() {{ failed+=($1); }}\nif ! /opt/t/a; then note a; {COLLECT}; fi\n(( ${{#failed[@]}} == 0 ))",
    f'm=/run/m\n/opt/t/a || {{ touch "$m"; {COLLECT}; }}\n[ ! -e "$m" ]',
    f'm=$(mktemp -u)\nnote() {{ touch "$m"; }}\n/opt/t/a || {{ note; {COLLECT}; }}\nif [ -f "$m" ]; then exit 1; fi',
    f'm=$(mktemp)\n/opt/t/a || {{ echo a >> "$m"; {COLLECT}; }}\nif [ -s "$m" ]; then cat "$m"; exit 1; fi',
    'm=$(mktemp)\nfor t in a b; do /opt/t/$t || echo $t >> "$m"; done\n[ -s "$m" ] && exit 1',
    'm=$(mktemp)\nif ! /opt/t/a; then echo a >> "$m"; fi\ntest ! -s "$m"',
    'm=$(mktemp)\n/opt/t/a || echo a >> "$m"\n(( $(wc -l < "$m") == 0 ))',
    # What is noted is asked for twice.
    f"{NOTED}exit $rc",
    f"{NOTED}[ $rc -eq 0 ]",
    f"rc=0\n/opt/t/go || rc=$?\nif [ $rc -eq 0 ]; then echo well; else {COLLECT}; fi\nexit $rc",
    f"/opt/t/go || rc=$?\nif [ ${{rc:-0}} -ne 0 ]; then {COLLECT}; fi\nexit ${{rc:-0}}",
    "rc=0\n/opt/t/go || rc=$?\n(( rc == 0 )) || nvidia-bug-report.sh || true\nexit $rc",
    f"rc=0\n/opt/t/go || rc=$?\n[ $rc -eq 0 ] || {{ {COLLECT}; /opt/t/undo || true; }}\nexit $rc",
    f"set +e\n/opt/t/go\nrc=$?\nset -e\nif (( rc )); then {COLLECT}; fi\nexit $rc",
]
UNTOLD = [
    # Nobody asks, or not in all cases.
    f"failed=0\n/opt/t/a || {{ failed=1; {COLLECT}; }}\necho $failed",
    f"failed=0\n/opt/t/a || {{ failed=1; {COLLECT}; }}",
    f"exit $failed\n/opt/t/a || {{ failed=1; {COLLECT}; }}\ntouch /x",
    f"failed=0\n/opt/t/a || {{ failed=1; {COLLECT}; }}\nexit 0",
    f"failed=0\n/opt/t/a || {{ failed=1; {COLLECT}; }}\n/opt/t/b && exit 0\nexit $failed",
    f"failed=0\n/opt/t/a || {{ other=1; {COLLECT}; }}\nexit $failed",
    f"failed=0\nstage() {{\n  local failed\n  /opt/t/a || {{ failed=1; {COLLECT}; }}\n}}\nstage\nexit $failed",
    f"note() {{ local failed=1; }}\nfailed=0\n/opt/t/a || {{ note; {COLLECT}; }}\nexit $failed",
    f"note() {{ if test -e /x; then failed=1; fi; }}\nfailed=0\n/opt/t/a || {{ note; {COLLECT}; }}\nexit $failed",
    f"note() {{ failed=1; }}\nfailed=0\n/opt/t/a || {{ note; {COLLECT}; }}\nexit 0",
    f'm=/run/m\n/opt/t/a || {{ touch "$m"; {COLLECT}; }}\n[ -e "$m" ]',
    f'm=/run/m\n/opt/t/a || {{ touch "$m"; {COLLECT}; }}\n[ ! -e "$n" ]',
    f'm=/run/m\n/opt/t/a || {{ touch "$m"; {COLLECT}; }}\nrm -f "$m"\n[ ! -e "$m" ]',
    f'm=/run/m\n/opt/t/a || {{ touch "$m"; {COLLECT}; }}\n[ ! -s "$m" ]',
    f'm=/run/m\n/opt/t/a || {{ touch "$m"; {COLLECT}; }}\nif [ -e "$m" ]; then echo no; fi\ntouch /x',
    'm=$(mktemp)\n/opt/t/a || echo a >> "$m"\ntouch /x',
    'm=$(mktemp)\n[ -s "$m" ] && exit 1\n/opt/t/a || echo a >> "$m"',
    'm=$(mktemp)\nif ! /opt/t/a; then echo a >> "$m"; fi\ncat "$m"',
    f"failed=0\n/opt/t/a || {{ failed=0; {COLLECT}; }}\nexit $failed",
    f"failed=0\n/opt/t/a || {{ failed=256; {COLLECT}; }}\nexit $failed",
    f"failed=0\n/opt/t/a || {{ failed=1; {COLLECT}; }}\nfailed=0\nexit $failed",
    f"failed=0\n/opt/t/a || {{ failed=1; {COLLECT}; }}\n[ $failed -eq 2 ] && exit 1\ntouch /x",
    f"failed=0\n/opt/t/a || {{ failed=1; {COLLECT}; }}\n[ $failed -ne 0 ] && echo failed\ntouch /x",
    f"failed=0\n/opt/t/a || {{ failed=1; {COLLECT}; }}\n[ $failed -eq 0 ] || true",
    f"failed=0\n/opt/t/a || {{ failed=1; {COLLECT}; }}\nif [ $failed -ne 0 ]; then echo no; fi\ntouch /x",
    f"failed=0\n/opt/t/a || {{ failed=1; {COLLECT}; }}\nif [ $failed -eq 0 ]; then exit 1; fi\ntouch /x",
    f"failed=0\n/opt/t/a || {{ failed=1; {COLLECT}; }}\nif [ -e /x ]; then exit $failed; fi\ntouch /x",
    f"failed=0\n/opt/t/a || {{ test -e /x && failed=1; {COLLECT}; }}\nexit $failed",
    f"failed=0\n/opt/t/a || {{ if test -e /x; then failed=1; fi; {COLLECT}; }}\nexit $failed",
    f"set +e\nfailed=0\n/opt/t/a || {{ failed=1; {COLLECT}; }}\n[ $failed -eq 0 ]\ntouch /x",
    f"n=0\nfor t in a b; do /opt/t/$t || {{ n=$((n + 1)); {COLLECT}; }}; done\n(( n < 2 ))",
    f"n=0\nfor t in a b; do n=0; /opt/t/$t || {{ n=1; {COLLECT}; }}; done\nexit $n",
    f"for t in a b; do /opt/t/$t || {{ {COLLECT}; continue; n=1; }}; done\nexit ${{n:-0}}",
    f"n=0\nfor t in a b; do n=0; /opt/t/$t || {{ n=1; {COLLECT}; }}; test -e /x && continue; (( n == 0 )); done",
    f"failed=()\n/opt/t/a || {{ failed+=(a); {COLLECT}; }}\nif [ ${{#failed[@]}} -gt 1 ]; then exit 1; fi",
    f"failed=()\n/opt/t/a || {{ failed+=(a); {COLLECT}; }}\nfailed=()\n(( ${{#failed[@]}} == 0 ))",
    f"ok=true\n/opt/t/a || {{ ok=false; {COLLECT}; }}\n$ok || echo no",
    # The variable is that of another shell.
    f"failed=0\nls /srv | while read t; do /opt/t/$t || {{ failed=1; {COLLECT}; }}; done\nexit $failed",
    f"failed=0\n( /opt/t/a || {{ failed=1; {COLLECT}; }} )\nexit $failed",
    f"failed=0\n{{ /opt/t/a || {{ failed=1; {COLLECT}; }}; }} &\nwait\nexit $failed",
    f"failed=0\n/opt/t/a || {{ failed=1; {COLLECT}; }} &\nwait\nexit $failed",
    f"failed=0\n/opt/t/a || {{ failed=1; {COLLECT}; }} | tee /srv/log\nexit $failed",
    f"failed=0\nif ! /opt/t/a; then failed=1; {COLLECT}; fi | tee /srv/log\nexit $failed",
    f"( failed=0; /opt/t/a || {{ failed=1; {COLLECT}; }}; exit $failed ) || true\ntouch /x",
    f"f() {{ local failed=0; /opt/t/a || {{ failed=1; {COLLECT}; }}; }}\nf\nexit ${{failed:-0}}",
    f"f() {{ local failed=0; /opt/t/a || {{ failed=1; {COLLECT}; }}; (( failed == 0 )); echo done; }}\nf || exit 1",
    f"f() {{ failed=0; }}\nfailed=0\n/opt/t/a || {{ failed=1; {COLLECT}; }}\nf\nexit $failed",
    f"f() {{ exit 0; }}\nfailed=0\n/opt/t/a || {{ failed=1; {COLLECT}; }}\nf\nexit $failed",
    # Behind `if !`, `$?` is 0.
    f"rc=0\nif ! /opt/t/a; then rc=$?; {COLLECT}; fi\nexit $rc",
    f"rc=0\n/opt/t/a || {{ echo no; rc=$?; {COLLECT}; }}\nexit $rc",
    # A question that is no question for a failure.
    "rc=0\n/opt/t/go || rc=$?\nif [ $rc -eq 0 ]; then\n  /opt/t/more || true\nfi\nexit $rc",
    "rc=0\n/opt/t/go || rc=$?\nif [ $rc -ge 0 ]; then\n  /opt/t/more || true\nfi\nexit $rc",
    "rc=0\n/opt/t/go || rc=$?\n(( rc == 0 )) && /opt/t/more || true\nexit $rc",
    "rc=0\n/opt/t/go || rc=$?\n(( rc == 0 )) || /opt/t/see && /opt/t/more || true\nexit $rc",
    "if [ ${rc:-0} -le 2 ]; then\n  /opt/t/more || true\nfi\nexit ${rc:-0}\nrc=1\nrc=2",
    "mode=$1\nif [ $mode = full ]; then\n  /opt/t/more || true\nfi\nexit $mode",
    "read mode\nif [ $mode -ne 0 ]; then\n  /opt/t/more || true\nfi\nexit $mode",
    f"{NOTED}exit 0",
    f"{NOTED}rc=0\nexit $rc",
    f"{NOTED}(( rc < 5 ))",
    f"rc=0\n/opt/t/go || rc=$?\nif [ $rc -ne 0 ]; then\n  {COLLECT}\n  exit 0\nfi\nexit $rc",
    "rc=0\n/opt/t/go || rc=$?\nif [ $rc -ne 0 ]; then\n  pip install torch || true\nfi\nexit $rc",
    "rc=0\n/opt/t/go || rc=$?\nif [ $rc -ne 0 ]; then\n  echo no\nfi\n/opt/t/more || true\nexit $rc",
    # The work itself.
    f"failed=0\n/opt/t/b || true\n/opt/t/a || {{ failed=1; {COLLECT}; }}\nexit $failed",
]
CARRIED = 'f() {\n  rc=$?\n  if [ "$rc" -ne 0 ]; then\n    /opt/t/collect || true\n  fi\n'
TRAPPED = [
    "f() { rm -rf /run/step; exit 1; }\ntrap f ERR\n/opt/t/go",
    "f() { rc=$?; rm -rf /run/step; exit $rc; }\ntrap f EXIT\n/opt/t/go",
    "f() { if [ $? = 0 ]; then exit 0; fi; exit 1; }\ntrap f EXIT\n/opt/t/go",
    f"f() {{ {COLLECT}; }}\ntrap f ERR\n/opt/t/go",
    f"f() {{ {COLLECT}; }}\ntrap 'f' ERR INT SIGTERM\n/opt/t/go",
    f"f() {{ echo f failed >&2; {COLLECT}; }}\ntrap 'echo no; f' ERR\n/opt/t/go\ntrap - ERR",
    f"f() {{ {COLLECT}; exit 1; }}\ntrap f ERR\n/opt/t/go",
    "undo() { /opt/tools/undo || echo no; }\ntrap undo ERR\n/opt/t/go",
    f"{CARRIED}  rm -rf /run/step\n}}\ntrap f EXIT\n/opt/t/go",
    f'{CARRIED}  exit "$rc"\n}}\ntrap f EXIT\n/opt/t/go',
    f"f() {{ if [ $? -ne 0 ]; then {COLLECT}; fi; }}\ntrap f EXIT\n/opt/t/go",
    f"f() {{ local rc=$?; if (( rc == 0 )); then echo well; else {COLLECT}; fi; }}\ntrap f EXIT\n/opt/t/go",
]
NOT_TRAPPED = [
    # The trap ends the script with 0 itself.
    "f() { echo no >&2; exit 0; }\ntrap f ERR\n/opt/t/go",
    "f() { rm -rf /run/step; exit 0; }\ntrap 'echo ended; f' EXIT\n/opt/t/go",
    f"f() {{ {COLLECT}; }}\ntrap f ERR\n/opt/t/go\nf",
    f"f() {{ {COLLECT}; }}\ng() {{ f; }}\ntrap f ERR\n/opt/t/go\ng",
    f'retry() {{ "$@" || "$@"; }}\nf() {{ {COLLECT}; }}\ntrap f ERR\nretry f',
    f"f() {{ {COLLECT}; exit 0; }}\ntrap f ERR\n/opt/t/go",
    f"f() {{ {COLLECT}; exit; }}\ntrap f ERR\n/opt/t/go",
    f"f() {{ {COLLECT}; exit $other; }}\ntrap f ERR\n/opt/t/go",
    f"f() {{ {COLLECT}; }}\ntrap f DEBUG\n/opt/t/go",
    f"set +e\nf() {{ {COLLECT}; }}\ntrap f ERR\n/opt/t/go\ntouch /x",
    "f() { /opt/t/finish || true; }\ntrap f EXIT\n/opt/t/go",
    f"f() {{ echo ended; rc=$?; if [ $rc -ne 0 ]; then {COLLECT}; fi; }}\ntrap f EXIT\n/opt/t/go",
    f"f() {{ rc=$?; rc=1; if [ $rc -ne 0 ]; then {COLLECT}; fi; }}\ntrap f EXIT\n/opt/t/go",
    f"f() {{ rc=$?; if [ $rc -eq 0 ]; then {COLLECT}; fi; }}\ntrap f EXIT\n/opt/t/go",
    f"f() {{ rc=$?; if [ $rc -ge 0 ]; then {COLLECT}; fi; }}\ntrap f EXIT\n/opt/t/go",
    f"f() {{ rc=$?; if [ $rc -ne 0 ]; then {COLLECT}; exit 0; fi; }}\ntrap f EXIT\n/opt/t/go",
    f"{CARRIED}}}\ntrap 'echo ended; f' EXIT\n/opt/t/go",
    "f() { /opt/t/undo || true; }\n/opt/t/go || f\ntouch /x",
]


def test_a_diagnosis_behind_a_failure_that_is_told_later_may_fail(spelled):
    assert spelled.scripts(TOLD, "SP160") == []


def test_where_nothing_tells_of_the_failure_it_may_not(spelled):
    assert spelled.scripts(UNTOLD, "SP160") == UNTOLD


def test_what_a_trap_does_behind_a_failure_may_fail(spelled):
    assert spelled.scripts(TRAPPED, "SP160") == []


def test_what_runs_elsewhere_as_well_or_ends_the_script_well_may_not(spelled):
    assert spelled.scripts(NOT_TRAPPED, "SP160") == NOT_TRAPPED


@pytest.mark.parametrize("within", ["ssh n2 bash -es <<'END'\n{}\nEND", "bash -e <<END\n{}\nEND"])
def test_a_text_for_another_shell_is_read_alike(spelled, within):
    told, untold = (within.format(it.replace("$", "\\$")) for it in (TOLD[0], UNTOLD[0]))
    assert spelled.scripts([told, untold], "SP160") == [untold]
