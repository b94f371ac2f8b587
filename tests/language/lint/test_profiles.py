"""A script that rests on somebody's profile, which it reads by name or through a shell that reads it by itself."""

READING = [
    "source ~/.bashrc\nmake",
    '. "$HOME/.profile"\nmake',
    ". ${HOME}/.zshrc",
    "source /etc/bash.bashrc",
    "source /home/ops/.bash_profile && make",
    "bash -ic 'make -C /srv install'",
    "bash -l -c 'make -C /srv install'",
    "bash -lc 'make -C /srv install'",
    "bash --login -c make",
    "bash -o pipefail -lc make",
    "sudo -u ops bash -lc 'make -C /srv install'",
    "sudo -u ops -- zsh -ilc make",
    "bash -l /srv/build.sh",
    "bash -l <<END\nmake\nEND",
    "bash -c '. ~/.bashrc; make'",
    "BASH_ENV=~/.bashrc bash -c make",
    "timeout 60 sh -lc make",
]
NOT_READING = [
    "bash -c 'make -C /srv install'",
    "bash -euo pipefail -c make",
    "bash -ec make",
    "bash --noprofile --norc -c make",
    "bash /srv/install.sh -l",
    "bash -c 'ls -l /srv'",
    "bash -s -- -i < /srv/build.sh",
    "bash -c make -l -i",
    "source /etc/profile.d/cuda.sh\nmake",
    "source ~/e/bin/activate",
    "grep -q CUDA ~/.bashrc",
    "cp /etc/skel/.bashrc /home/ops/.bashrc",
]


def test_what_reads_a_profile_is_found(spelled):
    assert spelled.scripts(READING, "SP177") == READING


def test_what_reads_none_is_left_alone(spelled):
    assert spelled.scripts(NOT_READING, "SP177") == []


def test_an_argument_list_and_a_condition_are_looked_at_as_well(codes, spelled):
    post = "    postconditions: [{file: {path: /x}}]\n"
    assert "SP177" in codes(f"  - id: one\n    run: {{argv: [bash, -ic, 'make -C /srv install']}}\n{post}")
    assert "SP177" not in codes(f"  - id: one\n    run: {{argv: [bash, -c, 'make -C /srv install']}}\n{post}")
    conditions = ["command: {run: 'bash -lc nvcc'}", "command: {argv: [bash, -lc, nvcc]}"]
    assert spelled.conditions(conditions, "SP177") == conditions
