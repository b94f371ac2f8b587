"""Further spellings of what goes wrong with packages of Python and with sources of apt."""

import pytest

CU128 = 'index_url: "https://download.pytorch.org/whl/cu128"'
CU130 = "https://download.pytorch.org/whl/cu130"
DOWN = [
    "name: back to cu128",
    "name: torch back to CUDA 12.8",
    "why: Downgrade until the driver is new",
    "why: the driver is too old, so torch goes back to cu128",
]
NOT_DOWN = [
    "why: never downgrade torch here",
    "why: so that nobody has to roll back",
    "name: away from cu126, and later back to cu130",
    "why: gives memory back to the kernel",
]
BEST_MATCH = [
    f"uv pip install --index-strategy unsafe-best-match --extra-index-url {CU130} torchaudio",
    f"UV_INDEX_STRATEGY=unsafe-best-match uv pip install --index {CU130} torch",
    f"export UV_INDEX_STRATEGY=unsafe-best-match\nuv pip install --extra-index-url {CU130} torch",
]
NO_BEST_MATCH = [
    f"uv pip install --index-strategy first-index --extra-index-url {CU130} torchaudio",
    f"uv pip install --index-strategy unsafe-best-match --extra-index-url {CU130} torchaudio==2.11.0+cu130",
    f"uv pip install --index-strategy unsafe-best-match --index-url {CU130} torchaudio",
    f"UV_INDEX_STRATEGY=unsafe-best-match pip install --extra-index-url {CU130} torchaudio",
]
UNSIGNED = [
    "deb [trusted=yes] http://mirror.example.com/x ./",
    "deb [arch=amd64 trusted=yes] http://mirror.example.com/x noble main",
    "Types: deb\nURIs: http://mirror.example.com/x\nSuites: ./\nTrusted: yes",
]
SIGNED = [
    "deb http://mirror.example.com/x noble main",
    "deb [signed-by=/k.gpg] http://mirror.example.com/x noble main",
    "deb [trusted=yes] https://mirror.example.com/x ./",
    "deb [trusted=yes] http://localhost:8000/x ./",
    "# deb [trusted=yes] http://mirror.example.com/x ./",
    "Types: deb\nURIs: http://mirror.example.com/x\nSuites: ./\nTrusted: no",
]


def back(words):
    packages = f"{{venv: ~/e, packages: [torchaudio], {CU128}, upgrade: true}}"
    return (
        f"  - id: one\n    {words}\n    python_packages: {packages}\n"
        "    postconditions:\n      - command: {run: /opt/check}\n"
    )


@pytest.mark.parametrize("words", DOWN)
def test_a_step_that_says_it_goes_back_cannot_do_so_by_upgrade(codes, words):
    assert "SP103" in codes(back(words))


@pytest.mark.parametrize("words", NOT_DOWN)
def test_words_that_name_no_way_back_are_left_alone(codes, words):
    assert "SP103" not in codes(back(words))


def test_the_best_match_is_found_in_scripts_and_variables(spelled, codes):
    assert spelled.scripts(BEST_MATCH, "SP108") == BEST_MATCH
    step = f"""  - id: one
    env: {{UV_INDEX_STRATEGY: unsafe-best-match}}
    python_packages: {{venv: ~/e, packages: [torchaudio], upgrade: true, extra_index_urls: ["{CU130}"]}}
    postconditions:
      - command: {{run: /opt/check}}
"""
    assert "SP108" in codes(step)
    assert "SP108" not in codes(step.replace("venv: ~/e", "venv: ~/e, installer: pip"))


def test_other_strategies_and_labels_are_left_alone(spelled):
    assert spelled.scripts(NO_BEST_MATCH, "SP108") == []


def test_an_unsigned_source_over_http_is_found_in_files_and_scripts(spelled):
    assert spelled.contents(UNSIGNED, "SP115") == UNSIGNED
    scripts = [f"echo '{it}' > /etc/apt/sources.list.d/x.list" for it in UNSIGNED[:2]]
    assert spelled.scripts(scripts, "SP115") == scripts


def test_signed_sources_are_left_alone(spelled):
    assert spelled.contents(SIGNED, "SP115") == []


def test_no_deps_in_a_script_needs_a_look_at_the_dependencies(spelled, codes):
    found = ["/srv/j/bin/pip install --no-deps sglang==0.5.16", "uv pip install --no-deps ./x.whl"]
    assert spelled.scripts([*found, "pip install --no-deps -r lock.txt", "pip download --no-deps x"], "SP116") == found
    step = f"  - id: one\n    run: {{script: {found[0]}}}\n    postconditions:\n      - "
    assert "SP116" in codes(f"{step}package: {{venv: /srv/j, name: sglang}}\n")
    assert "SP116" not in codes(f"{step}packages_consistent: {{venv: /srv/j}}\n")
    assert "SP116" not in codes(f"{step}command: {{run: /srv/j/bin/python -c 'import sglang'}}\n")
