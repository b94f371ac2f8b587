"""What a script has other machines and containers run: their text is a script as well, what it does is done there."""

import pytest

from stackplan.language.lint._shell import commands

REACHED = [
    ("ssh n2 'a; b'", ["a", "b"]),
    ("ssh -tt -p 22 -oBatchMode=yes -i /k -l ops n2 a -x", ["a"]),
    ("ssh n2 -- a", ["a"]),
    ("ssh n2 sudo -u ops a", ["a"]),
    ("ssh n2 bash -s <<E\na\nE", ["bash", "a"]),
    ("ssh n2 <<E\na\nE", ["a"]),
    ("echo a | ssh n2 bash", ["bash", "a"]),
    ("ssh n2", []),
    ("ssh -N -L 8000:localhost:8000 n2", []),
    ("timeout 60 ssh n2 a", ["a"]),
    ("sshpass -f /k ssh n2 'a; b'", ["ssh", "a", "b"]),
    ("ssh n2 \"docker exec x bash -c 'a; b'\"", ["docker", "bash", "a", "b"]),
    ("autossh -M 0 -f -N n2", []),
    ("autossh -M 20000:20001 -o ServerAliveInterval=5 n2 'a; b'", ["a", "b"]),
    ("autossh -M 0 n2 <<E\na\nE", ["a"]),
    ("mosh n2", []),
    ("mosh -p 60001 --ssh='ssh -p 2222' ops@n2 a -x", ["a"]),
    ("mosh n2 -- sh -c 'a; b'", ["sh", "a", "b"]),
    ("mosh --predict=never -- n2 a", ["a"]),
    ("pdsh -w n[1-4] 'a; b'", ["a", "b"]),
    ("clush -a -L a", ["a"]),
    ("clush --version", []),
    ("docker exec x a", ["a"]),
    ("docker exec -it -u root -e A=1 --workdir /srv x bash -c 'a; b'", ["bash", "a", "b"]),
    ("docker -H tcp://n2 container exec x a", ["a"]),
    ("docker compose -f /srv/c.yaml exec -T x a", ["a"]),
    ("docker run --rm -v/a:/b --gpus all -p 80:80 --name=y x:1 a", ["a"]),
    ("docker run -d --gpus all x --model y", []),
    ("docker run x", []),
    ("docker ps", []),
    ("docker", []),
    ("podman exec -l", []),
    ("crictl exec -it x sh -c 'a; b'", ["sh", "a", "b"]),
    ("ctr -n k8s.io tasks exec --exec-id 7 -t x sh -c 'a; b'", ["sh", "a", "b"]),
    ("ctr --address /run/c.sock t exec --exec-id=7 --user 0 x a -y", ["a"]),
    ("ctr -n k8s.io tasks ls", []),
    ("ctr images pull x", []),
    ("ctr", []),
    ("kubectl -n gpu exec -it p -c m -- a", ["a"]),
    ("k3s kubectl exec p -- a", ["a"]),
    ("kubectl exec p", []),
    ("kubectl get pods -- a", []),
    ("kubectl debug node/n2 --image=x -- chroot /host sh -c 'a; b'", ["sh", "a", "b"]),
    ("srun -N2 --ntasks-per-node=1 -w n2 --exclusive --time 5 sh -c 'a; b'", ["sh", "a", "b"]),
    ("srun --pty a", ["a"]),
    ("srun", []),
    ("sbatch --wait --wrap 'a; b'", ["a", "b"]),
    ("sbatch --wrap='a; b' -N1", ["a", "b"]),
    ("sbatch job.sh", []),
    ("sbatch -N1 --wait -W --time 5 <<E\n#!/bin/bash\n#SBATCH -n 1\na\nb\nE", ["a", "b"]),
    ("sbatch <<E\n#!/usr/bin/env bash\na | b\nE", ["a", "b"]),
    ("sbatch <<E\n#!/usr/bin/env python3\na\nE", []),
    ("sbatch <<E\na\nE", []),
    ("sbatch job.sh <<E\n#!/bin/sh\na\nE", []),
    ("sbatch --wrap c <<E\n#!/bin/sh\na\nE", ["c"]),
    ("apptainer exec --nv -B /a:/b --env X=1 x.sif bash -c 'a; b'", ["bash", "a", "b"]),
    ("singularity -q exec x.sif a", ["a"]),
    ("apptainer pull x.sif", []),
    ("lxc exec c1 -- sh -c 'a; b'", ["sh", "a", "b"]),
    ("machinectl shell c1 /bin/sh -c 'a; b'", ["sh", "a", "b"]),
    ("ansible all -m shell -a 'a; b'", ["a", "b"]),
    ("ansible all -a 'a -x'", ["a"]),
    ("ansible all -m copy -a 'src=a dest=b'", []),
    ("gcloud compute ssh n2 --command 'a; b'", ["a", "b"]),
    ("gcloud compute scp a n2:b --command x", []),
    ("parallel -j 4 'a {}; b {}' ::: c d", ["a", "b"]),
    ("parallel a {} ::: c d", []),
]


@pytest.mark.parametrize(("text", "expected"), REACHED)
def test_what_is_run_there_is_read(text, expected):
    outer = text.removeprefix("echo a | ").removeprefix("timeout 60 ").partition(" ")[0]
    found = [it.program for it in commands(text) if it.depth]
    assert found == expected
    assert any(outer in (it.program, *it.wrappers) for it in commands(text))


def test_where_it_runs_is_known():
    texts = ["ssh n2 a", "docker exec x a", "ssh n2 docker exec x a", "sudo ssh n2 a", "ssh n2 sudo a"]
    texts += ["autossh -M 0 n2 a", "mosh n2 a", "ctr t exec --exec-id 7 x a", "sbatch <<E\n#!/bin/sh\na\nE"]
    texts += ["srun a", "srun --container-image=x a", "apptainer exec x a", "parallel 'a {} | a' ::: b"]
    told = [commands(it)[-1] for it in texts]
    assert [(it.remote, it.elsewhere, it.user) for it in told] == [
        (True, False, None),
        (False, True, None),
        (True, True, None),
        (True, False, None),
        (True, False, "root"),
        (True, False, None),
        (True, False, None),
        (False, True, None),
        (True, False, None),
        (True, False, None),
        (False, True, None),
        (False, True, None),
        (False, False, None),
    ]


FOUND = {
    "SP160": [
        "ssh n2 'pip install x || true'",
        "docker exec x bash -c '/opt/a || true'",
        "kubectl exec p -- sh -c '/opt/a || :'",
        "mosh n2 -- sh -c '/opt/a || true'",
        "autossh -M 0 n2 '/opt/a || true'",
        "ctr -n k8s.io tasks exec --exec-id 7 x sh -c '/opt/a || true'",
        "sbatch --wait <<E\n#!/bin/bash -e\n/opt/a || true\nE",
        "sbatch --wait <<E\n#!/bin/bash\n/opt/a\n/opt/b\nE",
    ],
    "SP161": ["ssh n2 'pip install a==1 || pip install a'"],
    "SP162": ["ssh n2 '/opt/a | tail -3'", "docker exec x sh -c '/opt/a | tee /srv/log'"],
    "SP163": [
        "ssh n2 pip install x",
        "ssh n2 'cd /srv && pip install x'",
        "pdsh -a 'pip install x'",
        "nsenter -t 1 -m sh -c 'pip install x'",
    ],
    "SP166": ["ssh root@n2 apt-get -y install hwloc"],
    "SP169": [
        "ssh n2 'curl -fsSL https://x.example.com/i | sh'",
        "docker exec x sh -c 'curl -fsSL https://x.example.com/i | sh'",
    ],
    "SP172": ["clush -w n[1-4] systemctl restart sglang"],
    "SP173": ["ssh n2 pkill python"],
    "SP190": ["ssh n2 \"mysql -phunter22x -e 'select 1'\"", "docker exec x sh -c 'HF_TOKEN=k3yk3yk3y9 a'"],
}
SILENT = {
    "SP160": [
        "ssh n2 'rm -f /srv/x || true'",
        "mosh n2 -- rm -f /srv/x",
        "autossh -M 0 n2 'set -e; /opt/a; /opt/b'",
        "ctr -n k8s.io tasks exec --exec-id 7 x sh -ec '/opt/a; /opt/b'",
        "sbatch --wait <<E\n#!/bin/bash -e\n/opt/a\n/opt/b\nE",
        "sbatch --wait <<E\n#!/bin/bash\nset -euo pipefail\n/opt/a\n/opt/b\nE",
    ],
    "SP163": [
        "docker exec x pip install y",
        "docker run --rm x sh -c 'pip install y'",
        "kubectl exec p -- pip install y",
    ],
    "SP164": ["sudo ssh n2 pip install x", "sudo docker exec x pip install y"],
    "SP166": ["docker exec x apt-get -y install hwloc"],
    "SP173": ["docker exec x pkill python", "kubectl exec p -- pkill -9 python"],
    "SP174": ["ssh n2 sudo reboot", "docker exec x reboot"],
    "SP176": ["ssh n2 'sudo systemctl is-active x'"],
}


@pytest.mark.parametrize("code", FOUND)
def test_what_stands_inside_is_judged(spelled, code):
    assert spelled.scripts(FOUND[code], code) == FOUND[code]


@pytest.mark.parametrize("code", SILENT)
def test_what_is_no_concern_of_the_node_is_left_alone(spelled, code):
    assert spelled.scripts(SILENT[code], code) == []
