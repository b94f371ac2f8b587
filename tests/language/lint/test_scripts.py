"""Rules about scripts: each way of writing the fault is found, and what only looks like it is not."""

import pytest


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("systemctl --user restart sglang", []),
        ("systemctl is-active sglang", []),
        ("systemctl restart sglang", ["SP172"]),
        ("sudo -n systemctl daemon-reload\n/opt/x", ["SP172", "SP176"]),
        ("systemctl daemon-reload", ["SP172"]),
        ("systemctl enable sglang", []),
        ("systemctl enable --now sglang", ["SP172"]),
        ("systemctl mask sleep.target suspend.target", []),
        ("systemctl kill --signal=HUP rsyslog", []),
        ("systemctl kill -s HUP rsyslog", []),
        ("systemctl kill -s KILL rsyslog", ["SP172"]),
        ("systemctl start --help", []),
        ("service ssh restart", ["SP172"]),
        ("/opt/x || true", ["SP160"]),
        ("/opt/x || :", ["SP160"]),
        ("grep -q x /etc/hosts || true", []),
        ("count=$(grep -c x /etc/hosts || true)", []),
        ("set +e\n/opt/x", ["SP160"]),
        ("set +x", []),
        ("echo 'pip install x || true'", []),
        ("# pip install x || true\n/opt/x", []),
        ("cat <<'EOF' > /srv/readme\npip install torch || true\nEOF", []),
        ("if /opt/x; then true; fi", []),
        ("pip install numpy", ["SP163"]),
        ("~/e/bin/python -m pip install numpy", ["SP163"]),
        ("uv pip list", []),
        ("uv sync", ["SP163"]),
        ("cd /srv && uv pip install --system numpy", ["SP163", "SP165"]),
        ("sudo -H pip3 install numpy", ["SP163", "SP164"]),
        ("pip download numpy", []),
        ("pip install a+cu130 || pip install a", ["SP161", "SP163"]),
        ("apt-get -o DPkg::Lock::Timeout=60 install -y hwloc", ["SP166"]),
        ("apt-get update", []),
        ("apt-cache policy cuda", []),
        ("apt-get -y autoremove", ["SP167"]),
        ("apt-get install -y cuda", ["SP150", "SP166"]),
        ("apt-get install -y cuda-toolkit-13-0", ["SP166"]),
        ("rm -f /var/cache/apt/archives/lock", ["SP168"]),
        ("rm -f /run/lock/mine", []),
        ("curl -fsSL https://x.example.com/i | sudo bash -s -- -y", ["SP169", "SP176"]),
        ("bash <(curl -fsSL https://x.example.com/i)", ["SP169"]),
        ('bash -c "$(curl -fsSL https://x.example.com/i)"', ["SP169"]),
        ("curl -fsS https://x.example.com/i | jq .version", []),
        ("curl -fsSLO https://x.example.com/i.tar", ["SP170"]),
        ("wget https://x.example.com/i.tar", ["SP170"]),
        ("curl -fsS -o /dev/null https://x.example.com/health", []),
        ("curl -fsS http://x.example.com/health", ["SP115"]),
        ("curl -fsS http://localhost:30000/health", []),
        ("/srv/cuda_13.0.1_580.82.07_linux.run --silent --driver", ["SP171"]),
        ("/srv/cuda_13.0.1_580.82.07_linux.run --silent --toolkit --toolkitpath=/opt/cuda", []),
        ("chmod +x /srv/cuda_13.0.1_580.82.07_linux.run", []),
        ("pkill -f sglang", ["SP173"]),
        ("fuser -k /dev/nvidia0", ["SP173"]),
        ("fuser -v /dev/nvidia0", []),
        ("reboot", ["SP174"]),
        ("systemctl reboot", ["SP174"]),
        ("echo reboot the node later", []),
        (". ~/.profile && make -C /srv", ["SP177"]),
        ("source ~/e/bin/activate && make -C /srv", []),
        ("rm -rf ~/e/lib/python3.12/site-packages/~orch*", []),
        ("rm -rf ~/e/lib/python3.12/site-packages/torch", ["SP178"]),
        ("FLASHINFER_DISABLE_VERSION_CHECK=1 /opt/serve", ["SP180"]),
        ("export LD_LIBRARY_PATH=/usr/local/cuda/lib64:$LD_LIBRARY_PATH", ["SP181"]),
        ("LD_LIBRARY_PATH=/opt/mpi/lib /opt/x", []),
        ("LD_LIBRARY_PATH=/opt/amazon/efa/lib:/opt/amazon/ofi-nccl/lib /opt/x", []),
        ("LD_LIBRARY_PATH=/opt/amazon/ofi-nccl/lib:/opt/nccl/lib /opt/x", ["SP181"]),
        ("/opt/x 2>&1 | tail -30", []),
        ("bash -c '/opt/x | tail -3'", ["SP162"]),
        ("bash -o pipefail -c '/opt/x | tail -3'", []),
        ("set +o pipefail\n/opt/x | tee /srv/log", ["SP162"]),
        ("export V=$(/opt/x)", ["SP162"]),
        ("export V=1", []),
        ("nvidia-smi | grep 'CUDA Version'", ["SP133"]),
        ("nvidia-smi --query-gpu=driver_version --format=csv,noheader | grep 580", []),
        ("uv pip install --torch-backend=auto x", ["SP106", "SP163"]),
    ],
)
def test_scripts(codes_of_script, script, found):
    assert codes_of_script(script) == found


@pytest.mark.parametrize(
    ("argv", "found"),
    [
        ('[nvidia-smi, -pm, "1"]', []),
        ("[sudo, reboot]", ["SP174", "SP176"]),
        ('[bash, -c, "pip install x || true"]', ["SP160", "SP163"]),
        ('[echo, "pip install x || true"]', []),
    ],
)
def test_argument_lists(codes, argv, found):
    steps = f"  - id: one\n    run: {{argv: {argv}}}\n    postconditions:\n      - file: {{path: /x}}\n"
    assert codes(steps) == found


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("echo a >> /etc/x", ["SP143"]),
        ("echo a >> /dev/null", []),
        ("echo a | tee -a /etc/x", ["SP143"]),
        ("mkdir /srv/x", ["SP143"]),
        ("rm -rf /srv/x && mkdir /srv/x", []),
        ("rm -rf /srv/x; sleep 1; mkdir /srv/x && /opt/x", []),
        ("mkdir /srv/x; rm -rf /srv/x", ["SP143"]),
        ("d=/srv/build-$$; mkdir $d; /opt/x", []),
        ("mkdir -p /srv/x", []),
        ("ln -s /a /b", ["SP143"]),
        ("ln -sfn /a /b", []),
        ("[ -d /srv/x ] || mkdir /srv/x", []),
        ("git clone https://x.example.com/r /srv/r", ["SP143"]),
        ("work=$(mktemp -d); mkdir $work/in; echo a >> ${work}/log", []),
        ("work=$(mktemp -d); mkdir $work/in /srv/in", ["SP143"]),
        ("work=$(mktemp -d); echo a >> $worker/log", ["SP143"]),
        ("mkdir $work/in; work=$(mktemp -d)", ["SP143"]),
        ("work=/srv/w; mkdir $work/in; work=$(mktemp -d); mkdir $work/in", ["SP143"]),
        ("work=$(mktemp -d); work=$1; mkdir $work/in", ["SP143"]),
        ("work=`mktemp -d`; mkdir $work/in", []),
        (": > /srv/list; for it in a b; do echo $it >> /srv/list; done", []),
        ("rm -f /srv/list; echo a | tee -a /srv/list", []),
        ("echo a > /srv/list; echo b >> /srv/list; echo c >> /srv/other", ["SP143"]),
        ("echo a >> /srv/list; rm -f /srv/list", ["SP143"]),
        ("echo done >> /var/log/upgrade; /opt/x 2>&1 | tee -a /srv/x.log", []),
        ("[ -n $work ] || work=$(mktemp -d); mkdir $work/in", []),
        ("fill() { mkdir $work/in; }; work=$(mktemp -d); fill", []),
        ("fill() { mkdir $other/in; }; work=$(mktemp -d); fill", ["SP143"]),
        ("for it in a b; do work=$(mktemp -d); git clone https://x.example.com/r $work/r; done", []),
    ],
)
def test_what_cannot_be_repeated(codes, script, found):
    steps = f"""
  - id: one
    retries: {{times: 2}}
    run: {{script: "{script}"}}
    postconditions:
      - file: {{path: /x}}
"""
    assert codes(steps) == found
    assert codes(steps.replace("retries: {times: 2}", "name: once")) == []


def test_a_finding_stands_at_its_command_in_a_block(review):
    steps = """
  - id: one
    run:
      script: |
        set -x
          /opt/{{ node.name }}; pkill sglang
    postconditions:
      - file: {path: /x}
"""
    (finding,) = review(steps).findings
    assert (finding.at.line, finding.at.column) == (10, 33)
    assert finding.source[finding.at.column - 1 :] == "pkill sglang"


def test_a_finding_stands_at_its_command_on_a_line(review):
    steps = '  - id: one\n    run: {script: "/opt/x; pkill sglang"}\n    postconditions:\n      - file: {path: /x}\n'
    (finding,) = review(steps).findings
    assert finding.source[finding.at.column - 1 :].startswith("pkill sglang")


def test_a_script_with_a_secret_in_it_is_looked_at_all_the_same(codes):
    steps = """
  - id: one
    run:
      script: |
        TOKEN="{{ token }}" /opt/x
        reboot
    postconditions:
      - file: {path: /x}
"""
    assert codes(steps, head="vars: {token: {secret: true, env: T}}") == ["SP174"]
