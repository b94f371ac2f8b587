"""Secrets: never shown by accident, found again in every form in which a command echoes them."""

import base64
import html
import json
import shlex
import subprocess
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackplan.model.secret import MASK, Redactor, Secret, masked, passwords, reveal, without_passwords

PASSWORD = "hunter2/ü+x y"


def test_a_secret_shows_itself_to_nobody_but_the_wire():
    secret = Secret(PASSWORD)
    assert f"{secret} {secret!r} {[secret]}" == "*** Secret(***) [Secret(***)]"
    assert reveal(secret) == PASSWORD
    assert secret == Secret(PASSWORD) != Secret("other")


@pytest.mark.parametrize(
    "echo",
    [
        PASSWORD,
        urllib.parse.quote(PASSWORD),
        urllib.parse.quote_plus(PASSWORD),
        urllib.parse.quote(PASSWORD, safe=""),
        json.dumps(PASSWORD),
        json.dumps(PASSWORD, ensure_ascii=False),
    ],
)
def test_every_form_is_replaced(echo):
    assert PASSWORD in f"a {PASSWORD} z"
    said = Redactor(frozenset({PASSWORD})).text(f"a {echo} z")
    assert MASK in said
    assert "hunter2" not in said


QUOTED = "it's<a>&\"b$c`d e\\f"


@pytest.mark.parametrize(
    "echo",
    [
        QUOTED.encode().hex(),
        QUOTED.encode().hex().upper(),
        shlex.quote(QUOTED),
        QUOTED.replace("'", "'\\''"),
        html.escape(QUOTED),
        html.escape(QUOTED, quote=False),
        html.escape(QUOTED).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
        subprocess.run(
            ["bash", "-c", 'printf "%q" "$1"', "-", QUOTED], capture_output=True, text=True, check=True
        ).stdout,
        subprocess.run(["bash", "-xc", ': "$1"', "-", QUOTED], capture_output=True, text=True, check=True).stderr[4:-1],
    ],
)
def test_it_is_found_quoted_escaped_and_in_hexadecimal_digits(echo):
    said = Redactor(frozenset({QUOTED})).text(f"a {echo} z")
    assert said.strip("a z'") == MASK


@given(st.binary(max_size=9), st.text(min_size=10, max_size=40), st.binary(max_size=9))
def test_nothing_to_go_by_is_left_in_base64(before, secret, after):
    encoded = base64.b64encode(before + secret.encode("utf-8", "surrogatepass") + after).decode()
    assert Redactor(frozenset({secret})).text(encoded) != encoded


LONG = "".join(f"{number:x}-" for number in range(60))


@pytest.mark.parametrize("width", [76, 64, 20])
def test_base64_that_is_wrapped_is_found_line_by_line(width):
    encoded = base64.b64encode(f"Basic ops:{LONG}!".encode()).decode()
    redactor = Redactor(frozenset({LONG}))
    lines = [encoded[at : at + width] for at in range(0, len(encoded), width)]
    inner = [line for line in lines if len(line) == width][1:-1]
    assert inner
    assert {redactor.text(line) for line in inner} == {MASK}


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("said s3cr3t-value-01…", "said ***…"),
        ("said s3cr3t-value-0", "said ***"),
        (
            "x s3cr3t-v\n[stackplan: 7 bytes of output are missing here]\n-0123 y",
            "x ***\n[stackplan: 7 bytes of output are missing here]\n*** y",
        ),
        ("…value-0123 y", "…*** y"),
        ("no such s3…", "no such s3…"),
        ("…other", "…other"),
    ],
)
def test_a_piece_beside_a_cut_is_not_left(text, clean):
    assert Redactor(frozenset({"s3cr3t-value-0123"})).text(text) == clean


@given(st.text(max_size=60), st.text(min_size=9, max_size=30), st.text(max_size=60))
def test_what_holds_no_secret_keeps_its_meaning_and_what_holds_one_loses_it(before, secret, after):
    assert (
        secret.strip() == ""
        or secret not in Redactor(frozenset({secret})).text(before + secret + after)
        or secret in MASK
    )


def test_a_huge_secret_costs_no_fortune():
    huge = "".join(chr(33 + number % 90) for number in range(60_000))
    assert Redactor(frozenset({huge})).text(f"a {huge} {huge[:500]}…") == "a *** ***…"


def test_without_a_secret_nothing_is_touched():
    assert Redactor().plain({"a": ["hunter2", 1, None]}) == {"a": ["hunter2", 1, None]}


def test_a_secret_of_several_lines_is_found_line_by_line():
    redactor = Redactor(frozenset({"-----BEGIN\nabcdef\n-----END"}))
    assert redactor.text("key: abcdef") == "key: ***"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("https://ops:s3cret@host/simple", {"s3cret"}),
        ("--index-url 'https://ops:p%40ss@host/' x", {"p%40ss", "p@ss"}),
        ("https://ghp_0123456789@host/", {"ghp_0123456789"}),
        ("https://bob:p@ss77word@host/", {"p@ss77word"}),
        ("https://bob:pa/ss77word@host/", {"pa/ss77word"}),
        ("https://host/simple?token=ss77word&x=1", {"ss77word"}),
        ("https://host/x?api_key=k1-k2#top", {"k1-k2"}),
        ("ssh://git@host/x https://host:8080/@x", set()),
        ("https://host:8080/a https://[::1]:80/b@c", set()),
        ("a:b@c", set()),
    ],
)
def test_passwords_in_addresses(text, found):
    assert passwords(text) == found


def test_a_masked_line_keeps_its_columns():
    line = 'index_url: "https://ops:s3cret@host/simple"  # git@host'
    assert masked(line) == 'index_url: "https://**********@host/simple"  # git@host'
    assert without_passwords(line) == 'index_url: "https://***@host/simple"  # git@host'
    assert masked("https://h/?token=abc&x") == "https://h/?token=***&x"
    assert len(masked(line)) == len(line)


def test_a_short_password_is_replaced_where_it_is_a_word_and_leaves_other_words_alone():
    redactor = Redactor(frozenset({"to", "a1"}))
    assert redactor.text("torch from http://ops:to@index/cu130, a1b2 a1") == (
        "torch from http://ops:***@index/cu130, a1b2 ***"
    )


def test_a_line_of_a_long_secret_that_says_nothing_is_not_replaced():
    secret = '{\n  "key": "hunter2-hunter2"\n}'
    redactor = Redactor(frozenset({secret}))
    assert redactor.text('{"name": "torch"}') == '{"name": "torch"}'
    assert redactor.text(f"a {secret} z") == "a *** z"
    assert "hunter2" not in redactor.text('  "key": "hunter2-hunter2"')


@pytest.mark.parametrize("name", ["sig", "signature", "X-Amz-Signature", "X-Goog-Signature", "X-Amz-Security-Token"])
def test_what_signs_an_address_is_taken_out_of_it(name):
    address = f"https://store.example.com/w.whl?part=1&{name}=QSECRET444&x=1"
    assert "QSECRET444" not in without_passwords(address)
    assert "QSECRET444" not in masked(address)
    assert without_passwords(address).endswith("&x=1")
