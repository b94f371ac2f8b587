"""A download counts as compared where the script compares it, and not where it compares another one, or nothing."""

NOT_COMPARED = [
    "curl -fsSLO https://x.example.com/a.tgz\ncurl -fsSLO https://x.example.com/b.tgz\nsha256sum -c b.tgz.sha256",
    "wget https://x.example.com/a.tgz\ncurl -o c https://x.example.com/c\nsha256sum -c c.sum",
    "curl -fo /srv/a https://x.example.com/a\nwget https://x.example.com/b\necho '0123  b' | sha256sum -c",
    "curl -fo /srv/a https://x.example.com/a\nsha256sum /srv/a",
    "curl -fo /srv/a https://x.example.com/a\nsha256sum /srv/a | tee /srv/a.sum",
    "curl -fo /srv/a https://x.example.com/a\nsha256sum /srv/a > /srv/a.sum\nsha256sum -c /srv/a.sum",
    "wget https://x.example.com/a.asc\ngpg --import a.asc",
    "curl -fo /srv/a https://x.example.com/a\nopenssl dgst -sha256 /srv/a",
    "curl -fo /srv/a https://x.example.com/a\nmd5sum < /srv/a >> /srv/report",
]
COMPARED = [
    "curl -fsSLO https://x.example.com/a\ncurl -fsSLO https://x.example.com/b\nsha256sum -c SHA256SUMS",
    "curl -fsSLO https://x.example.com/a.tgz\nwget https://x.example.com/a.tgz.sha256\nsha256sum -c a.tgz.sha256",
    "wget https://x.example.com/a.run https://x.example.com/SHA256SUMS\ngrep a.run SHA256SUMS | sha256sum -c -",
    'curl -fo /srv/a https://x.example.com/a\ntest "$(sha256sum /srv/a | cut -c 1-64)" = 0123',
    'curl -fo /srv/a https://x.example.com/a\nhave=$(md5sum < /srv/a)\n[ "$have" = "0123  -" ]',
    "curl -fo /srv/a https://x.example.com/a\nsha256sum /srv/a | grep -q ^0123",
    "curl -fo /srv/a https://x.example.com/a\nsha256sum /srv/a > /srv/sum\ndiff /srv/sum /etc/sums/a",
    "wget https://x.example.com/a\nwget https://x.example.com/a.asc\ngpg --verify a.asc a",
    "wget https://x.example.com/k.asc https://x.example.com/a\ngpg --import k.asc\ngpg --verify a.asc",
    'F=/srv/a\ncurl -fo "$F" https://x.example.com/a\necho "$SUM  $F" | sha256sum -c',
    "for it in a b; do curl -fo $it https://x.example.com/$it; sha256sum -c $it.sum; done",
    "curl -fo /srv/a https://x.example.com/a\nmv /srv/a /srv/c\nsha256sum -c /srv/c.sum",
    "curl -fsSL https://x.example.com/a | tee /srv/a | sha256sum -c /srv/a.sum",
    "curl -fo /srv/a https://x.example.com/a\nshasum -a 256 -c <<< '0123  /srv/a'",
]


def test_a_comparison_of_another_file_is_none_and_neither_is_a_sum_that_nobody_reads(spelled):
    assert spelled.scripts(NOT_COMPARED, "SP170") == NOT_COMPARED


def test_what_a_script_compares_is_left_alone(spelled):
    assert spelled.scripts(COMPARED, "SP170") == []


A, B, C = (
    f"curl -fsSLO https://{it}\n" for it in ("m.example.com/a.tgz", "m.example.com/b.tgz", "x.example.com/c.run")
)
LIST = "curl -fsSLO https://m.example.com/SHA256SUMS\n"
CHECK = "sha256sum -c --ignore-missing SHA256SUMS"
LISTS_OF_OTHERS = [
    f"{A}{C}{LIST}{CHECK}",
    f"{A}{C}wget -q https://m.example.com/x86/sha256sums.txt\nsha256sum -c sha256sums.txt",
    f"{A}{C}curl -fsSL https://m.example.com/sums > SHA256SUMS\n{CHECK}",
    f"{A}{C}{LIST}grep a.tgz SHA256SUMS | sha256sum -c -",
    f"{A}{C}cat > SHA256SUMS <<END\n0123  a.tgz\nEND\n{CHECK}",
    f"{A}{B}echo '0123  a.tgz' > SHA256SUMS\n{CHECK}",
    f"{A}{B}cat > sums <<END\nSHA256 (b.tgz) = 0123\nEND\nsha256sum -c sums",
]
LISTS_OF_ALL = [
    f"{A}{B}{LIST}{CHECK}",
    # What was there before may name them all, and so may a list where the files come from mirrors.
    f"{A}{C}{CHECK}",
    f"{C}{LIST}{CHECK}",
    f"{A}{C}grep -h . /srv/sums/* > SHA256SUMS\n{CHECK}",
    f"{A}{B}cat > SHA256SUMS <<END\n0123  a.tgz\n4567 *b.tgz\nEND\n{CHECK}",
    f"{A}{B}echo '0123  a.tgz' > SHA256SUMS\necho '4567  b.tgz' >> SHA256SUMS\n{CHECK}",
    f"{A}{B}cat > SHA256SUMS <<END\nSHA256 (a.tgz) = 01\nSHA256 (b.tgz) = 23\nEND\n{CHECK}",
    f"{A}mv a.tgz d.tgz\necho '0123  d.tgz' > SHA256SUMS\n{CHECK}",
    f"{A}{C}{LIST}{CHECK}\necho '0123  c.run' | sha256sum -c",
]


def test_a_list_of_sums_compares_what_it_names_or_what_comes_from_where_it_does(spelled):
    assert spelled.scripts([*LISTS_OF_OTHERS, *LISTS_OF_ALL], "SP170") == LISTS_OF_OTHERS


def test_a_list_of_sums_that_was_fetched_as_well_compares_what_stands_beside_it(spelled):
    both = "curl -fsSLO https://m.example.com/SHA256SUMS\ncurl -fsSLO https://m.example.com/a.tgz\n"
    found = [both, both + "gpg --verify SHA256SUMS.asc SHA256SUMS"]
    silent = [
        both + "sha256sum -c SHA256SUMS",
        both + "sha256sum -c --ignore-missing SHA256SUMS",
        both + "grep ' a.tgz$' SHA256SUMS | sha256sum -c -",
    ]
    assert spelled.scripts([*found, *silent], "SP170") == found
