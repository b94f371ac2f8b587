"""An upgrade of everything, by whichever installer; one that names its packages is another thing."""

EVERYTHING = [
    "dnf -y upgrade",
    "dnf upgrade -y --security",
    "sudo yum update -y",
    "dnf --refresh -y distro-sync",
    "dnf -y --exclude kernel upgrade",
    "dnf upgrade -y '*'",
    "microdnf update",
    "dnf autoremove -y",
    "dnf system-upgrade download --releasever=42",
    "zypper --non-interactive dup",
    "zypper -n dup --from repo-oss",
    "zypper -n up",
    "zypper --non-interactive patch",
    "apt-get dselect-upgrade -y",
    "apt-get install -y '~U'",
    "pacman -Syu --noconfirm",
    "apk upgrade --no-cache",
    "transactional-update dup",
    "pkcon update -y",
    "dnf-automatic --installupdates",
    "bash -c 'yum -y update'",
]
NAMED = [
    "dnf -y upgrade nvidia-driver",
    "yum update -y tzdata",
    "dnf check-update || true",
    "dnf upgrade --assumeno",
    "dnf -y upgrade --downloadonly",
    "dnf makecache",
    "zypper -n up tzdata",
    "zypper -n refresh",
    "zypper dup --dry-run",
    "zypper list-updates",
    "pacman -Sy tzdata",
    "pacman -Qu",
    "apk update",
    "apk upgrade tzdata",
    "apt-get install -y tzdata",
    "apt-get update",
    "dnf upgrade --help",
]


def test_an_upgrade_of_everything_is_found_of_whichever_installer(spelled):
    assert spelled.scripts(EVERYTHING, "SP167") == EVERYTHING


def test_an_upgrade_of_named_packages_and_one_that_only_looks_are_left_alone(spelled):
    assert spelled.scripts(NAMED, "SP167") == []
