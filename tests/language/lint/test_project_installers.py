"""Installers for projects and for tools in scripts, and what only names them."""

INSTALLING = [
    "python setup.py install",
    "cd /srv/apex && python3 setup.py develop",
    "./setup.py install --user",
    "cd /srv/x && poetry install --no-root",
    "poetry -C /srv/x add numpy",
    "pipx install nvitop",
    "uv tool install nvitop",
    "easy_install numpy",
]
QUIET = [
    "python setup.py --version",
    "python3 setup.py bdist_wheel",
    "poetry install --dry-run",
    "poetry show",
    "pipx list",
    "pipx run cowsay install",
    "uv tool list",
    "uv tool run ruff install",
    "cat setup.py install",
]


def test_an_installer_of_a_project_or_a_tool_is_found(spelled):
    assert spelled.scripts(INSTALLING, "SP163") == INSTALLING


def test_what_installs_nothing_is_left_alone(spelled):
    assert spelled.scripts(QUIET, "SP163") == []
