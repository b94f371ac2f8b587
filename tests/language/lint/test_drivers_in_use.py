"""A script that takes the driver away from under the jobs, and scripts that only look as if they did."""

import pytest

IN_USE = [
    "sh /srv/NVIDIA-Linux-x86_64-580.95.05.run --silent",
    "chmod +x NVIDIA-Linux-x86_64-580.95.05.run\n./NVIDIA-Linux-x86_64-580.95.05.run -s --dkms",
    "V=580.95.05\nsudo bash ./NVIDIA-Linux-x86_64-$V.run --silent --no-drm",
    "nvidia-uninstall --silent",
    "/usr/bin/nvidia-installer --silent --uninstall",
    "rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia\nmodprobe nvidia",
    "modprobe -r nvidia-uvm && modprobe nvidia-uvm",
    "modprobe --remove nvidia",
    "sudo rmmod -f nvidia",
    "for it in nvidia_uvm nvidia; do ls; done\nbash -c 'rmmod nvidia'",
    "ubuntu-drivers install --gpgpu nvidia:580-server",
    "sh /srv/NVIDIA-Linux-x86_64-580.95.05.run --silent\nlsof /dev/nvidia0",
    "dnf install -y nvidia-driver",
    "dnf -y module install nvidia-driver:580-open",
    "sudo yum -y update kmod-nvidia-open-dkms",
    "zypper -n install nvidia-open-driver-G06-signed-kmp-default",
    "zypper --non-interactive in nvidia-open-driver-G06-signed-kmp-default",
    "apt-get -y -o DPkg::Lock::Timeout=60 install nvidia-driver-580-open",
    "apt-get purge -y 'nvidia-driver-570*'",
    "nvidia-smi --gpu-reset",
    "nvidia-smi -i 0 -r",
]
QUIET = [
    "sh /srv/NVIDIA-Linux-x86_64-580.95.05.run --extract-only",
    "sha256sum -c NVIDIA-Linux-x86_64-580.95.05.run.sha256",
    "rm -f /srv/NVIDIA-Linux-x86_64-580.95.05.run",
    "rmmod nvidia_peermem",
    "modprobe nvidia",
    "modprobe -r nouveau",
    "lsmod | grep nvidia",
    "ubuntu-drivers list",
    "dnf install -y nvidia-container-toolkit",
    "dnf info nvidia-driver",
    "dnf module list nvidia-driver",
    "dnf install -y --downloadonly nvidia-driver",
    "dnf --installroot=/srv/image install -y nvidia-driver",
    "dnf mark install nvidia-driver",
    "dnf versionlock add nvidia-driver",
    "zypper -n install --dry-run nvidia-open-driver-G06-signed-kmp-default",
    "apt-get -s install nvidia-driver-580-open",
    "apt-mark hold nvidia-driver-580-open",
    "nvidia-smi nvlink -r 0x1",
    "nvidia-smi --reset-gpu-clocks",
    "scontrol update nodename=$(hostname -s) state=drain reason=driver\nnvidia-smi --gpu-reset",
    "if fuser /dev/nvidia*; then exit 1; fi\nrmmod nvidia_uvm nvidia",
    'test -z "$(nvidia-smi --query-compute-apps=pid --format=csv,noheader)"\nsh NVIDIA-Linux-x86_64-580.run -s',
    "kubectl --context a drain $(hostname) --ignore-daemonsets\nrmmod nvidia",
    "scontrol update nodename=$(hostname -s) state=drain reason=driver\nrmmod nvidia",
]


@pytest.mark.parametrize("script", IN_USE)
def test_a_driver_that_is_taken_away_from_under_its_users_is_found(codes_of_script, script):
    assert "SP144" in codes_of_script(script)


@pytest.mark.parametrize("script", QUIET)
def test_what_leaves_the_driver_or_looks_first_is_left_alone(codes_of_script, script):
    assert "SP144" not in codes_of_script(script)


@pytest.mark.parametrize(
    ("stated", "found"),
    [("gpu: {count: 0}", False), ("gpu: {count: 8}", True), ("not: {gpu: {count: 0}}", True)],
)
def test_a_node_without_a_gpu_has_no_job_on_one(codes, stated, found):
    reboot = (
        "  - id: one\n    reboot: {reason: new kernel}\n    postconditions:\n      - os: {reboot_required: false}\n"
    )
    assert ("SP144" in codes(reboot, head=f"preconditions:\n  - {stated}\n")) is found
