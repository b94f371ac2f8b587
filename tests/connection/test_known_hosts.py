import base64
import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackplan.connection.known_hosts import Standing, fingerprint, host_name, judge, matching, read

KEY, OTHER = b"key of the host", b"key of somebody else"


def line(names: str, key: bytes = KEY, key_type: str = "ssh-ed25519", marker: str = "") -> str:
    return f"{marker}{names} {key_type} {base64.b64encode(key).decode()} a comment\n"


def hashed(name: str) -> str:
    salt = b"12345678901234567890"
    digest = hmac.new(salt, name.encode(), hashlib.sha1).digest()
    return f"|1|{base64.b64encode(salt).decode()}|{base64.b64encode(digest).decode()}"


def standing(text: str, name: str = "gpu-01", key_type: str = "ssh-ed25519") -> Standing:
    return judge(matching(read(text, "known_hosts"), name), key_type, KEY)[0]


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("", "gpu-01", Standing.UNKNOWN),
        (line("gpu-01"), "gpu-01", Standing.KNOWN),
        (line("GPU-01"), "gpu-01", Standing.KNOWN),
        (line("gpu-02,gpu-01"), "gpu-01", Standing.KNOWN),
        (line("gpu-0?"), "gpu-01", Standing.KNOWN),
        (line("*,!gpu-01"), "gpu-01", Standing.UNKNOWN),
        (line("[gpu-01]:2222"), "gpu-01", Standing.UNKNOWN),
        (line("[gpu-01]:2222"), "[gpu-01]:2222", Standing.KNOWN),
        (line("[*]:2222"), "[gpu-01]:2222", Standing.KNOWN),
        (line("gpu-01"), "[gpu-01]:2222", Standing.UNKNOWN),
        (line(hashed("gpu-01")), "gpu-01", Standing.KNOWN),
        (line(hashed("[gpu-01]:2222")), "[gpu-01]:2222", Standing.KNOWN),
        (line(hashed("gpu-02")), "gpu-01", Standing.UNKNOWN),
        (line("|1|broken|hash!"), "gpu-01", Standing.UNKNOWN),
        (line("gpu-01", OTHER), "gpu-01", Standing.CHANGED),
        (line("gpu-01", OTHER) + line("gpu-01"), "gpu-01", Standing.KNOWN),
        (line("gpu-01", OTHER, "ssh-rsa"), "gpu-01", Standing.CHANGED),
        (line("*", marker="@revoked "), "gpu-01", Standing.REVOKED),
        (line("gpu-01") + line("*", marker="@revoked "), "gpu-01", Standing.REVOKED),
        (line("*", OTHER, marker="@revoked "), "gpu-01", Standing.UNKNOWN),
        (line("*", marker="@cert-authority "), "gpu-01", Standing.UNKNOWN),
        ("# " + line("gpu-01"), "gpu-01", Standing.UNKNOWN),
        ("gpu-01 ssh-ed25519 not*base64\ngpu-01\n\n@revoked\n" + line("gpu-01"), "gpu-01", Standing.KNOWN),
    ],
)
def test_how_a_key_stands(text: str, name: str, expected: Standing) -> None:
    assert standing(text, name) is expected


def test_the_record_that_decides_is_named() -> None:
    text = "# first\n" + line("gpu-01", OTHER, "ssh-rsa") + line("gpu-01", OTHER)
    _, record = judge(matching(read(text, "/k"), "gpu-01"), "ssh-ed25519", KEY)
    assert record is not None
    assert (record.path, record.line) == ("/k", 3)


@given(st.text(max_size=200), st.text(max_size=20))
def test_no_text_breaks_the_reader_or_vouches_for_a_key(text: str, name: str) -> None:
    assert standing(text, name) in {Standing.UNKNOWN, Standing.CHANGED}


def test_names_and_fingerprints_are_those_of_openssh() -> None:
    assert host_name("GPU-01", 22) == "gpu-01"
    assert host_name("::1", 2222) == "[::1]:2222"
    # Of the key `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f`.
    key = base64.b64decode("AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f")
    assert fingerprint(key).startswith("SHA256:")
    assert len(fingerprint(key)) == 50
