"""Rules about what scripts do, each in many spellings: those that are the fault, and those that only look like it."""

import pytest

SCRIPTS = {
    "SP150": (
        [
            "apt-get install -y cuda:amd64",
            "apt -y install cuda=13.0.*",
            "apt-get install -y -t noble cuda/unknown",
            "DEBIAN_FRONTEND=noninteractive apt-get install -y cuda-13-0",
            'P="cuda nccl"\napt-get install -y $P',
            'P=(cuda nccl)\napt-get install -y "${P[@]}"',
            "dnf install -y cuda",
            "aptitude install cuda",
            "sudo -E apt-get -o A=b install cuda",
            'bash -c "apt install cuda"',
            "apt-get install -y hwloc cuda",
        ],
        [
            "apt-get install -y cuda-toolkit-13-0",
            "apt-cache policy cuda",
            "apt-get remove -y cuda",
            "dpkg -l cuda",
            "apt-get install -s cuda",
            "apt-mark hold cuda",
            "dnf remove cuda",
            "dnf install --assumeno cuda",
            "dnf --downloadonly -y install cuda",
            "zypper install --dry-run cuda",
            "zypper -n in -D cuda",
            "zypper install --download-only cuda",
            "yum install --assumeno cuda",
            "chroot /srv/rootfs apt-get install -y cuda",
            "chroot /srv/rootfs dnf install -y cuda",
            "dnf --installroot /srv/rootfs install -y cuda",
        ],
    ),
    "SP133": (
        [
            "nvidia-smi | grep -q 'CUDA Version: 13'",
            "V=$(nvidia-smi | sed -n 's/.*CUDA Version: //p')\ntest -n $V",
            "if nvidia-smi | grep -q 'CUDA Version: 13'; then /opt/x; fi",
            "nvidia-smi | grep 'CUDA Version: 13' >> /srv/report && touch /x",
            "nvidia-smi | grep 'CUDA Version' > /srv/cuda\nread -r v < /srv/cuda\n/opt/x $v",
            'nvidia-smi | grep CUDA > /srv/cuda\n/opt/x "$(cat /srv/cuda)"',
            'release() { echo "$(nvidia-smi | grep CUDA)"; }\n/opt/x "$(release)"',
            '/opt/x "$(nvidia-smi | grep CUDA)"',
            'echo "$(nvidia-smi | grep CUDA)" | grep -q 13',
            "nvidia-smi | (grep -q CUDA)",
            "! nvidia-smi | grep 'CUDA Version: 12' >> /srv/report",
            "bash -c 'nvidia-smi | grep -q CUDA'",
        ],
        [
            "nvidia-smi | sed -n 's/.*CUDA Version: /max cuda /p' >> /srv/report",
            "cd /srv && nvidia-smi -q | grep 'Driver Version' >> report",
            "rm -f /srv/report\nnvidia-smi | grep CUDA | tr -s ' ' > /srv/report\nchmod 644 /srv/report",
            "nvidia-smi | grep CUDA | tee -a /srv/report",
            "{ date; nvidia-smi | grep CUDA; } >> /srv/report",
            "nvidia-smi | grep CUDA >> /srv/report || true",
            'echo "max cuda: $(nvidia-smi | grep CUDA)" >> /srv/report',
            'logger -t upgrade "$(nvidia-smi | grep CUDA)"',
            "if test -w /srv; then nvidia-smi | grep CUDA > /srv/report; fi",
            "nvidia-smi",
        ],
    ),
    "SP167": (
        [
            "unattended-upgrade -v",
            "unattended-upgrades -d",
            "do-release-upgrade -f DistUpgradeViewNonInteractive",
            "apt-get -y -o Dpkg::Options::=--force-confold dist-upgrade",
            "apt-get -y -t stable upgrade",
            "apt -y full-upgrade",
            "aptitude -y safe-upgrade",
            "chroot / apt-get -y upgrade",
            "apt-get -o APT::Get::Simulate=0 upgrade",
        ],
        [
            "unattended-upgrade --dry-run",
            "unattended-upgrades -d --dry-run",
            "unattended-upgrade --download-only",
            "do-release-upgrade -c",
            "do-release-upgrade --check-dist-upgrade-only",
            "apt-get -s upgrade",
            "apt-get -qqs dist-upgrade",
            "apt-get --simulate dist-upgrade",
            "apt-get -o APT::Get::Simulate=true upgrade",
            "apt-get --download-only -y upgrade",
            "nala upgrade --simulate",
            "chroot /srv/rootfs apt-get -y dist-upgrade",
            "sudo --chroot=/srv/rootfs apt-get -y dist-upgrade",
            "chroot --userspec=root /srv/rootfs unattended-upgrade",
            "chroot /srv/rootfs /bin/sh -c 'apt-get update && apt-get -y upgrade'",
            "chroot /srv/rootfs bash <<EOF\napt-get -y upgrade\nEOF",
            "chroot /srv/rootfs env A=1 sh -c 'x=`apt-get -y upgrade`'",
            "dnf --installroot=/srv/rootfs -y upgrade",
            "zypper --root /srv/rootfs dup",
            "chroot /srv/rootfs dnf -y upgrade",
        ],
    ),
    "SP171": (
        [
            "./cuda_13.0.1_580.82.07_linux.run --silent --toolkit --driver",
            "sh cuda_13.0.1_580.82.07_linux.run -silent -driver",
            "bash /tmp/cuda_13.run --silent",
            "chmod +x /srv/cuda_13.run && /srv/cuda_13.run --silent",
            "sudo sh /srv/cuda_13.0.1_580.82.07_linux.run --silent --driver",
            'R=/srv/cuda_13.0.1_580.82.07_linux.run\nsh "$R" --silent',
            "cd /srv && ./cuda_*.run --silent",
            "sh /tmp/cuda.run --silent",
            "./cuda-installer --silent --driver",
            "nohup sh -x /srv/cuda_13.run --silent",
            'bash -c "/srv/cuda_13.run --silent"',
            "V=13.0.1\nsh /srv/cuda_${V}_linux.run --silent",
        ],
        [
            "sh /srv/cuda_13.run --silent --toolkit",
            "sh /srv/cuda_13.run -silent -toolkit",
            "sh /srv/cuda_13.run --extract=/tmp/x",
            "/srv/cuda_13.run --help",
            "ls /srv/cuda_13.run",
            "sha256sum /srv/cuda_13.run",
            "sh /srv/other.run --silent",
            "rm /srv/cuda_13.run",
            "sh /srv/cuda_13.run --silent --toolkit --override --toolkitpath=/opt/cuda",
        ],
    ),
    "SP172": (
        [
            "service sglang restart",
            "/etc/init.d/ssh restart",
            "invoke-rc.d ssh restart",
            "systemctl -q restart x",
            "systemctl --no-block start x",
            "systemctl enable --now x",
            "systemctl reload-or-restart x",
            "systemctl try-reload-or-restart x",
            'bash -c "systemctl stop x"',
            "sudo systemctl restart x",
            "systemctl kill x",
            "timeout 60 systemctl restart x",
            "systemctl -H h restart x",
            "if ! systemctl restart x; then exit 1; fi",
            "systemctl\\\n  restart x",
            "U=sglang\nsystemctl restart $U",
            "supervisorctl restart x",
        ],
        [
            "systemctl --user restart x",
            "systemctl is-active x",
            "systemctl status x",
            "service x status",
            "systemctl show -p MainPID x",
            "systemctl list-units --state failed",
            "systemctl cat x",
            "echo systemctl restart x",
            "systemctl is-enabled restart",
            "/etc/init.d/x status",
            "systemctl --user daemon-reload",
            "chroot /srv/rootfs systemctl restart x",
            "chroot /srv/rootfs service x restart",
            "journalctl -u restart",
        ],
    ),
    "SP173": (
        [
            "pgrep -f sglang | xargs kill",
            "pgrep -f sglang | xargs -r -n1 kill -9",
            "kill $(pgrep -f sglang)",
            "kill -9 `pidof python3`",
            'kill -9 "$(pgrep python)"',
            "kill $(lsof -t /dev/nvidia0)",
            "fuser -k /dev/nvidia0",
            "fuser -kv 30000/tcp",
            "killall -9 python3",
            "skill -KILL python",
            "PIDS=$(pgrep python)\nkill $PIDS",
            "for p in $(pgrep x); do kill $p; done",
            'pgrep x | while read -r p; do kill "$p"; done',
            "while read p; do kill $p; done < <(pgrep x)",
            "ps aux | grep python | grep -v grep | awk '{print $2}' | xargs kill -9",
            "nvidia-smi --query-compute-apps=pid --format=csv,noheader | xargs -r kill",
            "kill $(nvidia-smi --query-compute-apps=pid --format=csv,noheader)",
            "sudo pkill -f x",
            'bash -c "pkill -f x"',
            "timeout 5 killall x",
            "kill -9 -1",
            "docker stop $(docker ps -q)",
            "scancel -u ops",
            "kill $(ps -eo pid,comm | awk '/python/{print $1}')",
            'su - ops -c "pkill python"',
        ],
        [
            "kill $(cat /run/x.pid)",
            'kill "$pid"',
            "/opt/x & pid=$!\nsleep 1\nkill $pid",
            'kill -0 "$(pgrep x)"',
            "pgrep -f x",
            "pkill -0 x",
            "pkill -P $$",
            "kill %1",
            "command -v pkill",
            'echo "pkill python"',
            "fuser -v /dev/nvidia0",
            "docker stop sglang",
            "docker rm -f sglang",
            "scancel 1234",
            "kill -l",
            'trap "kill $pid" EXIT',
            "docker stop $(docker ps -q --filter name=sglang)",
            'ps aux | grep x > /tmp/ps.txt\nkill "$mine"',
            "killall -0 x",
            "pgrep x | xargs ps",
            "while pgrep x; do sleep 1; done",
            "kill $(jobs -p)",
            "nvidia-smi --query-compute-apps=pid --format=csv,noheader | wc -l",
            "systemctl show -p MainPID x",
        ],
    ),
    "SP176": (
        [
            "sudo /opt/x",
            "echo y | sudo tee /etc/x",
            "if sudo /opt/x; then :; fi",
            'bash -c "sudo /opt/x"',
            "X=$(sudo /opt/x)",
            "SUDO=sudo\n$SUDO /opt/x",
            "doas /opt/x",
            "find /x -exec sudo rm {} +",
            "sudo -v",
            "sudo -iu ops /opt/x",
            "sudo bash <<EOF\n/opt/x\nEOF",
            "su - root -c /opt/x",
            "env A=1 sudo -E /opt/x",
            "timeout 5 sudo /opt/x",
            "pkexec /opt/x",
            "/usr/bin/sudo /opt/x",
        ],
        [
            "command -v sudo",
            "echo sudo",
            "test -x /usr/bin/sudo",
            "# sudo x\n/opt/x",
            "cat /etc/sudoers.d/x",
            "visudo -c",
        ],
    ),
    "SP178": (
        [
            "cd ~/e/lib/python3.12/site-packages\nrm -rf torch",
            "cd ~/e/lib/python3.12/site-packages && rm -rf torch torchvision",
            "(cd ~/e/lib/python3.12/site-packages; rm -rf torch)",
            'find ~/e/lib/python3.12/site-packages -name "torch*" -delete',
            'find ~/e/lib/python3.12/site-packages -maxdepth 1 -name "nvidia*" -exec rm -rf {} +',
            'find ~/e -path "*/site-packages/torch*" -delete',
            'find ~/e/lib/python3.12/site-packages -name "torch*" | xargs rm -rf',
            "rm -rf ~/e/lib/python3.12/site-packages/*",
            'SP=~/e/lib/python3.12/site-packages\nrm -rf "$SP/torch" "$SP"/nvidia*',
            "python3 -c \"import shutil; shutil.rmtree('/home/ops/e/lib/python3.12/site-packages/torch')\"",
            '~/e/bin/python -c "import shutil, torch; shutil.rmtree(torch.__path__[0])"',
            '~/e/bin/python - <<EOF\nimport shutil, site\nshutil.rmtree(site.getsitepackages()[0] + "/torch")\nEOF',
            'SP=$(~/e/bin/python -c "import site; print(site.getsitepackages()[0])")\nrm -rf $SP/torch',
            "mv ~/e/lib/python3.12/site-packages/torch /tmp/old",
            "for p in torch torchvision; do rm -rf ~/e/lib/python3.12/site-packages/$p; done",
            "pushd ~/e/lib/python3.12/site-packages; rm -rf torch; popd",
            "unlink ~/e/lib/python3.12/site-packages/__editable__.torch-2.11.0.pth",
            "rm -f ~/e/lib/python3.12/site-packages/*.pth",
            "rm -rf /usr/lib/python3/dist-packages",
            "find ~/e/lib/python3.12/site-packages -newer /tmp/x -delete",
            "find ~/e/lib/python3.12/site-packages -newer /tmp/x | xargs rm -f",
            "cd ~/e && rm -rf lib/python3.12/site-packages/torch",
            "sudo rm -rf /usr/lib/python3/dist-packages/torch",
            'cd ~/e/lib/python3.12/site-packages\nfor p in torch nvidia; do rm -rf "$p"; done',
        ],
        [
            "rm -rf ~/e/lib/python3.12/site-packages/~orch*",
            'find ~/e/lib/python3.12/site-packages -name "~*" -exec rm -rf {} +',
            "find ~/e/lib/python3.12/site-packages -name __pycache__ -prune -exec rm -rf {} +",
            'find ~/e/lib/python3.12/site-packages -name "*.pyc" -delete',
            "rm -rf ~/e",
            "rm -rf ~/e/lib/python3.12/site-packages",
            "rm -rf /srv/build/lib/python3.12/site-packages/",
            "cd ~/e/lib/python3.12 && rm -rf site-packages",
            'SP=~/e/lib/python3.12/site-packages\nrm -rf "$SP"',
            "rm -f ~/e/lib/python3.12/site-packages/zz_old.pth",
            "ls ~/e/lib/python3.12/site-packages/torch",
            "cp x.pth ~/e/lib/python3.12/site-packages/x.pth",
            "echo /srv/x > ~/e/lib/python3.12/site-packages/x.pth",
            "(cd ~/e/lib/python3.12/site-packages && ls)\nrm -rf /tmp/x",
            "mv /srv/x.pth ~/e/lib/python3.12/site-packages/x.pth",
            "rm -rf ~/.cache/flashinfer",
            "find ~/e/lib/python3.12/site-packages -name torch",
            "du -sh ~/e/lib/python3.12/site-packages && rm -f /tmp/du",
            'python3 -c "print(1)"',
            "grep -r x ~/e/lib/python3.12/site-packages > /tmp/x; rm /tmp/x",
        ],
    ),
    "SP180": (
        [
            "export FLASHINFER_DISABLE_VERSION_CHECK=1",
            "env FLASHINFER_DISABLE_VERSION_CHECK=1 /opt/x",
            "FLASHINFER_DISABLE_VERSION_CHECK=true /opt/x",
            'echo "FLASHINFER_DISABLE_VERSION_CHECK=1" >> /etc/environment',
            "echo 'export FLASHINFER_DISABLE_VERSION_CHECK=1' | sudo tee -a /etc/profile.d/x.sh",
            "cat > /etc/x.env <<EOF\nFLASHINFER_DISABLE_VERSION_CHECK=1\nEOF",
            "docker run -e FLASHINFER_DISABLE_VERSION_CHECK=1 image",
            "sudo FLASHINFER_DISABLE_VERSION_CHECK=1 /opt/x",
            "declare -x FLASHINFER_DISABLE_VERSION_CHECK=1",
            "systemctl set-environment FLASHINFER_DISABLE_VERSION_CHECK=1",
            'python3 -c \'import os; os.environ["FLASHINFER_DISABLE_VERSION_CHECK"]="1"\'',
            'bash -c "FLASHINFER_DISABLE_VERSION_CHECK=1 /opt/x"',
        ],
        [
            "export FLASHINFER_DISABLE_VERSION_CHECK=0",
            "unset FLASHINFER_DISABLE_VERSION_CHECK",
            "echo FLASHINFER_DISABLE_VERSION_CHECK=1",
            'test -z "$FLASHINFER_DISABLE_VERSION_CHECK"',
            "grep FLASHINFER_DISABLE_VERSION_CHECK=1 /etc/environment",
        ],
    ),
    "SP181": (
        [
            "export LD_LIBRARY_PATH=/usr/local/cuda/lib64:$LD_LIBRARY_PATH",
            "env LD_LIBRARY_PATH=/usr/local/cuda/lib64 /opt/x",
            'LD_LIBRARY_PATH="/usr/local/cuda/lib64" /opt/x',
            "LD_LIBRARY_PATH=/usr/local/cuda/lib64\nexport LD_LIBRARY_PATH",
            "sudo LD_LIBRARY_PATH=/usr/local/cuda/lib64 /opt/x",
            'echo "export LD_LIBRARY_PATH=/usr/local/cuda/lib64" >> ~/.bashrc',
            'export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/cuda/lib64"',
            "declare -x LD_LIBRARY_PATH=/usr/local/cuda/lib64",
            "cat >> ~/.profile <<EOF\nexport LD_LIBRARY_PATH=/usr/local/cuda/lib64\nEOF",
            "docker run --env LD_LIBRARY_PATH=/usr/local/cuda/lib64 i",
            "CUDA=/usr/local/cuda/lib64\nexport LD_LIBRARY_PATH=$CUDA",
        ],
        [
            "export LD_LIBRARY_PATH=/opt/mpi/lib",
            "unset LD_LIBRARY_PATH",
            "echo $LD_LIBRARY_PATH",
            "export PATH=/usr/local/cuda/bin:$PATH",
            "export CUDA_HOME=/usr/local/cuda",
            "env -u LD_LIBRARY_PATH /opt/x",
        ],
    ),
}


@pytest.mark.parametrize("code", SCRIPTS)
def test_every_spelling_of_a_deed_is_found_and_nothing_that_only_looks_like_it(spelled, code):
    found, silent = SCRIPTS[code]
    assert spelled.scripts(found, code) == found
    assert spelled.scripts(silent, code) == []


@pytest.mark.parametrize(
    "package", ["cuda", "cuda:amd64", "cuda=13.0.*", "cuda-13-0=13.0.1-1", "cuda/unknown", "cuda-13-0:arm64=13.0.1-1"]
)
def test_the_meta_package_by_any_name_that_apt_takes(spelled, package):
    assert spelled.packages(
        [package, "cuda-toolkit-13-0", "cuda-drivers", "cuda-keyring", "cuda-compat-13-0"], "SP150"
    ) == [package]


ELSEWHERE = {
    "SP144": "ubuntu-drivers install",
    "SP163": "~/e/bin/pip install x",
    "SP164": "/home/ops/e/bin/pip install x",
    "SP165": "pip install --break-system-packages x",
    "SP166": "apt-get install -y hwloc",
    "SP167": "apt-get -y upgrade",
    "SP168": "rm -f /var/lib/dpkg/lock",
    "SP172": "systemctl restart x",
    "SP177": "bash -lc /opt/x",
    "SP178": "rm -rf /usr/lib/python3/dist-packages/torch",
}


@pytest.mark.parametrize("code", ELSEWHERE)
def test_what_an_image_is_told_is_nothing_that_is_done_to_the_node(spelled, code):
    deed = ELSEWHERE[code] if code != "SP164" else f"sudo {ELSEWHERE[code]}"
    there = [f"chroot /srv/rootfs {deed}", f"chroot /srv/rootfs bash -c '{deed}'", f"sudo chroot /srv/rootfs {deed}"]
    assert spelled.scripts([deed, *there], code) == [deed]


def test_a_failure_in_an_image_is_a_failure_still(codes_of_script):
    assert codes_of_script("chroot /srv/rootfs pip install x==1+cu130 || chroot /srv/rootfs pip install x") == ["SP161"]
    assert codes_of_script("chroot /srv/rootfs /opt/x || true") == ["SP160"]
    assert codes_of_script("dnf install -y --assumeno a || dnf install -y a") == []


@pytest.mark.parametrize(
    ("postcondition", "found"),
    [
        ("command: {run: systemctl show x -p NeedDaemonReload --value, stdout: 'no'}", []),
        ("command: {argv: [systemctl, is-active, x]}", []),
        ("service: {name: x}", []),
        ("not: {service: {name: x}}", []),
        ("http: {url: 'http://localhost:30000/health'}", ["SP172"]),
        ("file: {path: /etc/systemd/system/x.service}", ["SP172"]),
        ("command: {run: test -e /etc/systemd/system/x.service}", ["SP172"]),
    ],
)
def test_a_daemon_reload_alone_has_to_be_proven(codes, postcondition, found):
    steps = "  - id: one\n    run: {argv: [systemctl, daemon-reload]}\n    postconditions:\n"
    assert codes(f"{steps}      - {postcondition}\n") == found


def test_the_toolkit_of_an_image_is_not_the_nodes(codes):
    toolkit = """
  - id: toolkit
    cuda_toolkit: {version: 13.0.1, method: apt, prefix: /usr/local/cuda-13.0}
    postconditions:
      - nvcc: {prefix: /usr/local/cuda-13.0, release: 13.0}
  - id: one
    run: {argv: [ARGV]}
    postconditions:
      - file: {path: /x}
"""
    assert codes(toolkit.replace("ARGV", "/usr/local/cuda/bin/nvcc, --version")) == ["SP135"]
    assert codes(toolkit.replace("ARGV", "chroot, /srv/rootfs, /usr/local/cuda/bin/nvcc, --version")) == []


def test_a_pattern_that_no_lock_fits_takes_none_away(spelled):
    found = [
        "rm -f /var/cache/apt/archives/*",
        "rm -f /var/lib/dpkg/lock*",
        "find /var/lib/apt -name 'l*k' -delete",
        "rm -rf /var/lib/apt/lists/*",
        "rm -f /var/lib/{dpkg,apt/lists}/lock",
    ]
    silent = [
        "rm -f /var/cache/apt/archives/*.deb",
        "rm -rf /var/cache/apt/archives/partial/*",
        "rm -f /var/lib/apt/lists/developer.download.nvidia.com_*",
        "find /var/cache/apt/archives -name '*.deb' -delete",
        "find /var/cache/apt/archives -name '*.deb' -exec rm -f {} +",
        "find /var/cache/apt/archives -name 'nvidia-*' -print0 | xargs -0 -r rm -f",
    ]
    assert spelled.scripts([*found, *silent], "SP168") == found


def test_gdebi_that_prints_a_line_for_apt_installs_nothing(spelled):
    assert spelled.scripts(["gdebi -n /srv/x.deb", "gdebi --apt-line /srv/x.deb"], "SP166") == ["gdebi -n /srv/x.deb"]


def test_apt_mark_waits_for_no_answer(spelled):
    found = ["apt-get remove -y x", "dpkg --set-selections < /srv/x"]
    assert spelled.scripts([*found, "apt-mark hold x", "apt-mark unhold x"], "SP166") == found
