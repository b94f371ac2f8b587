"""An answer that is kept in a file and only read needs no digest; what is run, unpacked or put to use does."""

_GET = "curl -fsS https://api.example.com/v1/node -o /srv/node.json\n"

_SPELT = [
    _GET,
    f"{_GET}cp /srv/node.json /srv/app/",
    f"{_GET}jq . /srv/node.json\ncp /srv/node.json /srv/app/",
    f"{_GET}cat /srv/node.json > /srv/app/config",
    f"{_GET}for it in /srv/node.json; do jq . $it; kubectl apply -f $it; done",
    "curl -fsS https://x.example.com/a.txt -o /srv/a.txt\ncat /srv/a.txt | bash",
    "curl -fsS https://x.example.com/b.txt -o /srv/b.txt\ngrep -q x /srv/b.txt\npip install $(cat /srv/b.txt)",
    "curl -fsS https://x.example.com/c.yaml -o /srv/c.yaml\ngrep -q x /srv/c.yaml\nkubectl apply -f /srv/c.yaml",
    "curl -fsS https://x.example.com/daemon.json -o /etc/docker/daemon.json\njq . /etc/docker/daemon.json",
    "wget -qO /srv/requirements.txt https://x.example.com/requirements.txt\ncat /srv/requirements.txt",
    "curl -fsS https://x.example.com/d.tar -o /srv/d.tar\ngrep -q x /srv/d.tar",
    "curl -fsS https://get.example.com > /srv/installer\nsh /srv/installer",
    "curl -fsS https://x.example.com/e > /srv/e\ngrep -q x /srv/e",
]
# Each with a file of its own: what one script does with a file counts for all of the playbook.
PUT_TO_USE = [it.replace("node.json", f"node{at}.json") for at, it in enumerate(_SPELT)]
ONLY_READ = [
    "curl -fsS https://api.example.com/v1/$(hostname -s) -o /srv/f.json\njq -e .state /srv/f.json",
    "curl -fsS https://x.example.com/g.txt > /srv/g.txt\nread -r version < /srv/g.txt\ntest $version = 3",
    "wget -qO /srv/h.yaml https://x.example.com/h.yaml\ncat /srv/h.yaml | grep -q ready\nrm -f /srv/h.yaml",
    "curl -fsS https://x.example.com/i.csv | tee /srv/i.csv\nversion=$(cut -d, -f2 /srv/i.csv)",
    "curl -fsS https://x.example.com/j.json -o /srv/j.json\njq .a /srv/j.json > /srv/a\ncurl -fsS -d @/srv/j.json https://y.example.com",
    "wget -qO- https://ifconfig.example.com > /srv/address",
]
_FETCH = "fetch() { for n in 1 2 3; do curl -fsS -o $2 $1 && return 0; done; return 1; }\n"
_NAMED = "fetch() {\n  local url=$1 file=$2\n  wget -qO $file.part $url\n  mv $file.part $file\n}\n"
_SUM = "echo '0  /srv/fa.tgz' | sha256sum -c"
BY_FUNCTIONS = [
    f"{_FETCH}fetch https://x.example.com/a /srv/fa.json\njq -e .ok /srv/fa.json\ntar -xf /srv/fb.tgz",
    f"{_FETCH}fetch https://x.example.com/c.json /srv/fc.json\nsum=$(jq -r .sum /srv/fc.json)\ntest -n $sum",
    f"{_FETCH}fetch https://x.example.com/d.json /srv/fd.json\nfetch x://a.tgz /srv/fa.tgz\njq . /srv/fd.json\n{_SUM}",
    f"{_FETCH}fetch https://x.example.com/a.tgz /srv/fa.tgz\n{_SUM}",
    f"{_NAMED}fetch https://x.example.com/a.tgz /srv/fa.tgz\n{_SUM}",
    f"{_NAMED}fetch https://x.example.com/e.json /srv/fe.json\njq -e .ok /srv/fe.json",
]
BY_FUNCTIONS_FOR_USE = [
    f"{_FETCH}fetch https://x.example.com/g.json /srv/fg.json\ncp /srv/fg.json /srv/app/",
    f"{_FETCH}fetch https://x.example.com/a.tgz /srv/fa.tgz\nfetch https://x.example.com/b.tgz /srv/fb.tgz\n{_SUM}",
    f"{_NAMED}fetch https://x.example.com/h.tgz /srv/fh.tgz\nfetch https://x.example.com/a /srv/fa.tgz\n{_SUM}",
    f"{_FETCH}fetch https://x.example.com/i.json /srv/fi.json\nfetch x://j.tgz /srv/fj.tgz\njq . /srv/fi.json",
]
OVER_HTTP = [
    "curl -fsS http://exporter:9100/metrics > /srv/k.txt\nbash /srv/k.txt",
    "curl -fsS http://exporter:9100/metrics > /srv/l.txt\ncp /srv/l.txt /srv/app/",
    "curl -fsS http://x.example.com/m.json -o /srv/m.json\njq . /srv/m.json",
]


def test_what_is_put_to_use_has_to_be_compared(spelled):
    assert spelled.scripts(PUT_TO_USE, "SP170") == PUT_TO_USE


def test_what_is_only_read_does_not(spelled):
    assert spelled.scripts(ONLY_READ, "SP170") == []


def test_metrics_over_http_may_be_looked_at_and_nothing_else(spelled):
    read = "curl -fsS http://exporter:9100/metrics > /srv/n.txt\ngrep -q node_load1 /srv/n.txt"
    assert spelled.scripts([*OVER_HTTP, read], "SP115") == OVER_HTTP


def test_a_file_that_another_step_takes_is_put_to_use(codes):
    assert "SP170" not in codes(_fetched("file: {path: /srv/x, source: other.json}"))
    assert "SP170" in codes(_fetched("symlink: {path: /srv/x, target: /srv/o.json}"))


def _fetched(action):
    script = "curl -fsS https://x.example.com/o.json -o /srv/o.json && jq . /srv/o.json"
    proof = "    postconditions:\n      - file: {path: /srv/x}\n"
    return f"  - id: one\n    run: {{script: '{script}'}}\n{proof}  - id: two\n    {action}\n{proof}"


def test_what_a_function_fetches_is_told_by_the_words_of_its_calls(spelled):
    assert spelled.scripts(BY_FUNCTIONS, "SP170") == []
    assert spelled.scripts(BY_FUNCTIONS_FOR_USE, "SP170") == BY_FUNCTIONS_FOR_USE
