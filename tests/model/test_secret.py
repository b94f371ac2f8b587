"""Secrets: never shown by accident, found again in every form in which a command echoes them."""

import base64
import json
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackplan.model.secret import MASK, Redactor, Secret, masked, passwords, reveal

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


@given(st.binary(max_size=9), st.text(min_size=10, max_size=40), st.binary(max_size=9))
def test_nothing_to_go_by_is_left_in_base64(before, secret, after):
    encoded = base64.b64encode(before + secret.encode("utf-8", "surrogatepass") + after).decode()
    assert Redactor(frozenset({secret})).text(encoded) != encoded


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
        ("ssh://git@host/x https://host:8080/@x", set()),
        ("a:b@c", set()),
    ],
)
def test_passwords_in_addresses(text, found):
    assert passwords(text) == found


def test_a_masked_line_keeps_its_columns():
    line = 'index_url: "https://ops:s3cret@host/simple"  # git@host'
    assert masked(line) == 'index_url: "https://**********@host/simple"  # git@host'
    assert len(masked(line)) == len(line)
