"""An install that stands in for another one that failed, by whatever way the script learns of the failure."""

FALLBACKS = [
    "rc=0\npip install x==1+cu130 || rc=$?\nif [ $rc -ne 0 ]; then pip install x; fi",
    'failed=\npip install x==1+cu130 || failed=yes\n[ -z "$failed" ] || pip install x',
    "failed=false\npip install x==1+cu130 || failed=true\nif $failed; then pip install x; fi",
    "failed=0\npip install x==1+cu130 || failed=1\nif (( failed )); then pip install x; fi",
    "failed=0\npip install x==1+cu130 || { echo no; failed=1; }\nls\n[[ $failed == 1 ]] && pip install x",
    "ok=0\npip install x==1+cu130 && ok=1\n[ $ok = 1 ] || pip install x",
    "set +e\npip install x==1+cu130\nrc=$?\nset -e\nif [[ $rc != 0 ]]; then pip install x; fi",
    "set +e\npip install x==1+cu130\nif [ $? -eq 0 ]; then ls; else pip install x; fi",
    "set +e\npip install x==1+cu130\nif ! [ $? -eq 0 ]; then pip install x; fi",
    'one() { pip install "$1"; }\none x==1+cu130 || one x',
    'one() { ~/e/bin/pip install "$1"; }\nif ! one x==1+cu130; then one x; fi',
    "exact() { pip install x==1+cu130; }\nany() { pip install x; }\nexact || any",
    'function one { uv pip install "$@"; }\nfor v in x==1+cu130 x; do one $v && break; done',
]
NONE = [
    "set +e\npip install x==1+cu130\nif [ $? -eq 0 ]; then pip install y; fi",
    "set +e\npip install x==1+cu130\nrc=$?\nset -e\nif [ $rc -ne 0 ]; then exit $rc; fi\npip install y",
    "rc=0\npip install x==1+cu130 || rc=$?\nif [ $rc -eq 0 ]; then pip install y; fi",
    "ok=0\npip install x==1+cu130 && ok=1\nif [ $ok = 1 ]; then pip install y; fi",
    "failed=0\npip install x==1+cu130 || failed=1\nif [ -e /srv/y ]; then pip install y; fi\nexit $failed",
    "rc=0\npip install x==1+cu130 || rc=$?\nif [ $rc -ne 0 ]; then pip install x==1+cu130; fi",
    'one() { pip install "$1"; }\none x==1+cu130 || one x==1+cu130',
    'one() { pip install "$1"; }\none x==1+cu130 && one y',
    'die() { echo "$*" >&2; exit 1; }\npip install x==1+cu130 || die pip install x failed',
]


def test_an_install_in_the_place_of_another_is_found(spelled):
    assert spelled.scripts(FALLBACKS, "SP161") == FALLBACKS


def test_one_more_install_and_the_same_once_more_are_left_alone(spelled):
    assert spelled.scripts(NONE, "SP161") == []
