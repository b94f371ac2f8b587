"""Further spellings of what scripts do, and of what only looks like it."""

import pytest

VENDOR = "https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/x86_64"
SCRIPTS = {
    "SP166": (
        [
            "dpkg -r hwloc",
            "dpkg --purge nvidia-dkms-580",
            "dpkg -P $(dpkg -l | awk '/^rc/ {print $2}')",
            "echo 'hwloc hold' | dpkg --set-selections",
            "sudo dpkg --remove --force-depends hwloc",
            "dpkg -i /srv/libnccl2_2.30.7-1+cuda13.0_amd64.deb",
            "dpkg --force-confold -iE /srv/*.deb",
            "dpkg --unpack /srv/x.deb",
            'dpkg --install "$DEB"',
            "dpkg -i /srv/x.deb || apt-get -f -y install",
            "apt-get install -y /srv/x.deb",
            "apt install -y ./x.deb",
            "rpm -ivh /srv/x.rpm",
            "rpm -Uvh --nodeps /srv/x.rpm",
            "rpm --upgrade /srv/x.rpm",
            "find /srv/pkg -name '*.deb' -exec dpkg -i {} \\;",
            "find /srv/pkg -name '*.rpm' -exec rpm -ivh {} +",
            "find /srv/pkg -name '*.deb' -print0 | xargs -0 dpkg -i",
            "ls /srv/pkg/*.deb | xargs -n1 dpkg -i",
            "dpkg -R --install /srv/pkg",
            "gdebi -n /srv/x.deb",
            "alien -i /srv/x.rpm",
            "yum localinstall -y /srv/x.rpm",
            "dnf install -y ./x.rpm",
            f"curl -fsSLo /tmp/a.deb {VENDOR}/libnccl2_2.30.7-1+cuda13.0_amd64.deb\ndpkg -i /tmp/a.deb",
            f"wget -qO /tmp/k.deb {VENDOR}/cuda-keyring_1.1-1_all.deb\ndpkg -i /tmp/k.deb /tmp/a.deb",
            "curl -fsSLo /tmp/a.deb https://x.example.com/keyring/a_1_all.deb\ndpkg -i /tmp/a.deb",
        ],
        [
            "dpkg -l hwloc",
            "dpkg --configure -a",
            "dpkg -i /srv/cuda-keyring_1.1-1_all.deb",
            "dpkg -i /srv/cuda-repo-ubuntu2404-13-0-local_13.0.2-1_amd64.deb",
            "dpkg --info /srv/x.deb",
            "dpkg-deb -x /srv/x.deb /srv/x",
            "rpm -qip /srv/x.rpm",
            "rpm -Uvh /srv/epel-release-latest-9.noarch.rpm",
            "rpm --import /srv/key",
            "rpm -i --test /srv/x.rpm",
            "dpkg --get-selections > /srv/selections",
            "dpkg --no-act -r hwloc",
            "dpkg --root=/srv/image -P hwloc",
            "dpkg --compare-versions 1 lt 2",
            "find /srv/pkg -name 'cuda-keyring*.deb' -exec dpkg -i {} +",
            "ls /srv/cuda-keyring_*.deb | xargs dpkg -i",
            "find /srv/pkg -name '*.deb' -exec dpkg --info {} +",
            "find /srv/pkg -name '*.deb' | xargs dpkg --contents",
            "gdebi --version",
            "alien --to-deb /srv/x.rpm",
            "dnf install -y /srv/epel-release-latest-9.noarch.rpm",
            "docker exec x dnf install -y /srv/x.rpm",
            f'curl -fsSLo "$tmp/k.deb" {VENDOR}/cuda-keyring_1.1-1_all.deb\ndpkg -i "$tmp/k.deb"',
            f"wget -qO /tmp/k.deb {VENDOR}/cuda-keyring_1.1-1_all.deb\ncd /tmp\ndpkg -i ./k.deb",
            "curl -fsSL https://x.example.com/x-repo-9.rpm > /tmp/r.rpm\nrpm -Uvh /tmp/r.rpm",
        ],
    ),
    "SP174": (
        ["racadm serveraction powercycle", "racadm serveraction hardreset", "rtcwake -m off -s 60"],
        ["racadm serveraction powerstatus", "racadm -r bmc2 serveraction powercycle", "rtcwake -m show"],
    ),
    "SP170": (
        [
            "curl -fsSL https://x.example.com/k | gpg --dearmor -o /usr/share/keyrings/k.gpg",
            "curl -fsSL https://x.example.com/k | gpg --dearmor > /usr/share/keyrings/k.gpg",
            "wget -qO- https://x.example.com/k | apt-key add -",
            "curl -fsSL https://x.example.com/a | base64 -d > /srv/a",
        ],
        [
            "curl -fsSL https://x.example.com/k | gpg --show-keys | grep -q 9DC858229FC7DD38",
            "curl -fsSL https://x.example.com/v.json | jq .version > /srv/version",
            "curl -fsSL https://x.example.com/k | gpg --with-fingerprint | head",
        ],
    ),
    "SP173": (
        [
            "pgrep x | parallel kill",
            "xargs kill < <(pgrep x)",
            "loginctl terminate-user ops",
            "loginctl kill-user ops",
            "docker ps -q | xargs docker stop",
            "docker ps -aq | xargs -r docker rm -f",
            "for it in $(docker ps -q); do docker kill $it; done",
        ],
        [
            "loginctl list-sessions",
            "docker ps -q --filter name=sglang | xargs -r docker stop",
            "docker images -q | xargs docker rmi",
            "docker ps | wc -l",
            "xargs kill < /run/loader.pid",
            "docker stop sglang",
        ],
    ),
}


@pytest.mark.parametrize("code", SCRIPTS)
def test_a_deed_is_found_however_it_is_spelt(spelled, code):
    faults, others = SCRIPTS[code]
    assert spelled.scripts(faults, code) == faults
    assert spelled.scripts(others, code) == []


def test_a_module_is_named_behind_m_in_several_ways(spelled):
    texts = ["python -mpip install x", "python3 -Im pip install x", "~/e/bin/python -B -m uv pip install x"]
    assert spelled.scripts(texts, "SP163") == texts
    assert (
        spelled.scripts(["python3 -m venv ~/e", "python3 -mjson.tool /srv/a", "python3 -m x pip install"], "SP163")
        == []
    )


def test_a_key_that_another_step_fetches_is_no_package_of_its_own(codes):
    """By its address, whatever the name that it is kept under."""

    def found(name):
        return codes(
            f"  - id: fetched\n    download: {{url: '{VENDOR}/{name}', path: /srv/k.deb, sha256: {'a' * 64}}}\n"
            "    postconditions: [{file: {path: /srv/k.deb}}]\n"
            "  - id: put-in\n    run: {script: dpkg -i /srv/k.deb}\n    postconditions: [{file: {path: /x}}]\n"
        )

    assert "SP166" not in found("cuda-keyring_1.1-1_all.deb")
    assert "SP166" in found("libnccl2_2.30.7-1+cuda13.0_amd64.deb")
