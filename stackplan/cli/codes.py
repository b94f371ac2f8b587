"""What each code means: what was seen, why it happens, and the ways out; `stackplan explain CODE` shows it.

A code never changes its meaning. A test holds this list and the codes that are raised anywhere to each other.
"""

from stackplan.cli.audit_codes import AUDIT_CODES
from stackplan.cli.code import Code

CODES: dict[str, Code] = {
    "SP201": Code(
        "what is installed satisfies the requirement, so nothing was looked for",
        "The installer exited 0 and changed nothing. A bare name such as `torch` is satisfied by any installed "
        "version of it, whatever its build label, and a satisfied requirement is not looked up on any index. "
        "Naming another index does not change that. Ask for a newer build with `upgrade: true`, for the same "
        "version in another build with `reinstall`, or pin the version with its label: `torch==2.11.0+cu130`.",
    ),
    "SP202": Code(
        "`upgrade` found nothing higher",
        "`upgrade` moves to a higher version only, and the label counts: 2.10.0+cu130 is higher than 2.10.0+cu128, "
        "and 2.10.0+cu128 is lower than 2.11.0.dev+cu130. To go to a version that is lower, or to another build "
        "that does not sort higher, pin it exactly or name the package in `reinstall`.",
    ),
    "SP203": Code(
        "files of an installed package are missing, or of another size than its RECORD says",
        "Missing and shorter files are most often what an installation left that broke off: the metadata was written "
        "and the files were not. A longer one was written by something else: an edit by hand, or another package. "
        "Installers look at the metadata alone, so every later attempt says that there is nothing to do. stackplan "
        "walks over RECORD, compares sizes and sees it; contents of the right size it does not compare. Name the "
        "package in `reinstall`.",
    ),
    "SP204": Code(
        "an installed package's own metadata is broken or there twice",
        "Without RECORD no installer knows which files to take away, and of two dist-info folders of one name it "
        "looks at one only. Remove the folder that is too many, or the broken one, from site-packages and install "
        "the package again.",
    ),
    "SP205": Code(
        "a disk filled up during the installation",
        "The old version is gone by then, and the new one's metadata may stand there without its files. Make room "
        "where the environment, the installer's cache and TMPDIR lie, and name the packages in `reinstall`: "
        "without it the next attempt says that there is nothing to do. A precondition `disk: {path, free}` stops "
        "the step before it begins.",
    ),
    "SP206": Code(
        "the step's user may not write the environment",
        "Files of the environment belong to another user, often because somebody once installed as root. Run the "
        "step as the environment's owner with `user`, or give the files back to their owner.",
    ),
    "SP207": Code(
        "the node could not fetch what the installer asked for",
        "Indexes are reached from the node, not from here: name resolution, proxy, firewall, certificates and "
        "rights are the node's. Check the URL, then fetch it on the node by hand.",
    ),
    "SP208": Code(
        "no set of versions satisfies all that is required",
        "The resolver's own reasons are shown. Most often an index does not hold the version or the build that is "
        "pinned, a package pins another one to a version that the step does not admit, or pre-releases are needed "
        "and not allowed (`prerelease: allow`).",
    ),
    "SP209": Code(
        "a file is not what its index announces",
        "Its hash, its name or the version in its metadata differs from what the index or the file's name says. "
        "Wheels of private or partial builds are the usual case. Have the index mended, or pin another build.",
    ),
    "SP210": Code(
        "a package that the step does not name was replaced",
        "A package that was installed requires another version of one that was there, and the installer changed it "
        "along the way. It exits 0, because all requirements are met. It is told where what does not hold speaks of "
        "that package; most upgrades replace some that matter to nobody. Where both go together, keep the version "
        "with `constraints`; where they do not, another version of the new package is needed, or `no_deps: true` if "
        "it is known to run with what is there.",
    ),
    "SP211": Code(
        "the requirement admits a build that the postcondition does not want",
        "The installer took the highest version on offer, as it was asked to. A public index may well offer one "
        "that is built for a newer CUDA release than the node's. Pin the version that is wanted, with its label.",
    ),
    "SP212": Code(
        "settings of the node put another index in front",
        "`inherit_config: true` lets in the installer's variables (`UV_…`, `PIP_…`) and configuration files of the "
        "node. An extra index there goes before the one that the step names. Take `inherit_config` away: by "
        "default a step sees nothing of them, and the plan lists what was ignored.",
    ),
    "SP213": Code(
        "there is no wheel for this node",
        "The version exists, and not for the node's Python, processor or C library: `cp312` where the environment has "
        "3.11, `manylinux_2_39` where glibc is older, `aarch64` where the node is x86_64. Another version or index, or "
        "an environment made with another Python, is the way out. A build from source seldom is.",
    ),
    "SP214": Code(
        "the index answers with a certificate that the node does not trust",
        "Most often a proxy of the company opens TLS and signs with an authority of its own. uv and pip each have "
        "their own list of authorities; SSL_CERT_FILE names uv's, PIP_CERT pip's. `--trusted-host` and the like switch "
        "the check off, and with it all certainty about what is installed.",
    ),
    "SP215": Code(
        "the proxy did not connect the installer to the index",
        "HTTPS_PROXY, HTTP_PROXY and NO_PROXY of the login count in steps, in upper and lower case. Another user, sudo "
        "or a login shell may have others: SP320 of a plan tells.",
    ),
    "SP216": Code(
        "the installer gave up waiting for the index",
        "A wheel of torch has hundreds of MB. Nothing was installed when a download ends so, and what was downloaded "
        "whole is in the cache, so trying again is cheap.",
    ),
    "SP217": Code(
        "a package is built from source, and there is no nvcc",
        "No wheel of it fits, so its source is compiled on the node, which needs a CUDA toolkit of torch's release. "
        "Prefer a wheel that is made for the torch of the environment. `only_binary` has the installer refuse builds, "
        "which shows in the plan already.",
    ),
    "SP218": Code(
        "a package is compiled by another CUDA than torch's",
        "The build takes the toolkit that CUDA_HOME, `nvcc` on the PATH or /usr/local/cuda leads to, in this order. "
        "torch refuses one of another major release than its own.",
    ),
    "SP219": Code(
        "no C++ compiler, or one that the CUDA toolkit does not support",
        "Each CUDA release supports gcc up to a version. Distributions let several be installed side by side; CC and "
        "CXX say which is taken.",
    ),
    "SP220": Code(
        "a package's build misses a package that it does not declare",
        "Builds run in an environment of their own, where only what the package declares is installed. flash-attn and "
        "its like import torch while they are built. Installers then advise to build without isolation, against "
        "whatever torch is there; a wheel for the torch that is wanted is safer.",
    ),
    "SP221": Code(
        "the runfile could not be unpacked for want of room",
        "A toolkit's runfile needs several times its own size while it unpacks, and then the room of the toolkit. "
        "Make room in the home of the step's user (`~/.cache/stackplan`) and where `prefix` lies. A precondition "
        "`disk: {path, free}` stops the step before it begins.",
    ),
    "SP222": Code(
        "another program held apt's lock",
        "Most often unattended-upgrades. stackplan waits for the lock, five minutes unless `lock_timeout` says "
        "otherwise, and never takes it by force: two writers would ruin the package database. Wait for the other "
        "program to end, then run the playbook again.",
    ),
    "SP223": Code(
        "no repository of the node offers the package",
        "The name or the version is not in any repository that the node knows. NVIDIA's CUDA repository is set up "
        "for each distribution and release by itself, and package lists have to be fetched (`apt-get update`) "
        "before a new version is seen.",
    ),
    "SP224": Code(
        "apt cannot install anything until what is half installed is put right",
        "An earlier installation was interrupted. Run `dpkg --configure -a` on the node and look at what `dpkg "
        "--audit` says. stackplan does not do that by itself: it may remove packages.",
    ),
    "SP225": Code(
        "apt holds the package for installed, and its files are not there",
        "To apt a package that was half installed, is held, or whose files somebody removed is installed. `dpkg "
        "--audit` and `dpkg -V PACKAGE` on the node tell which; installing it again with `apt-get install "
        "--reinstall` brings its files back.",
    ),
    "SP226": Code(
        "the runfile cannot write its log",
        "The installer writes /tmp/cuda-installer.log, always. One that another user left behind stops it. Remove "
        "that file on the node.",
    ),
    "SP227": Code(
        "apt would do more than the step names",
        "To do what is asked, apt would remove or downgrade other packages, or change one that is on hold. "
        "stackplan then does nothing: a toolkit that takes the driver away is found out too late otherwise. Name in "
        "`remove` what may go, in `install` with its version what may go down, in `hold` what may change and is to "
        "be put on hold again; or choose versions that go together.",
    ),
    "SP228": Code(
        "the package lists could not be fetched",
        "A repository that the node knows does not answer, has moved, or is signed with a key that the node does "
        "not have. apt-get calls that a warning and goes on with old lists; stackplan does not, because what is "
        "installed then is not what was asked for. Mend the repository, or take its list out of /etc/apt.",
    ),
    "SP229": Code(
        "no set of package versions is what the step asks for",
        "apt's own reasons are shown. Most often two packages of one release are asked for in different versions, a "
        "package needs one that no repository of the node offers, or one on hold stands in the way.",
    ),
    "SP230": Code(
        "dpkg could not finish a package",
        "The package's own script failed, often because a kernel module could not be built or a service did not "
        "start. The package is left half installed, and apt installs nothing else until that is put right: mend the "
        "cause on the node and run `dpkg --configure -a`.",
    ),
    "SP231": Code(
        "what was downloaded is not what the playbook states",
        "Its sha256 differs, so nothing of it was used. Either the file was exchanged (a new release under the old "
        "address, an error page, a proxy) or the digest in the playbook is of another file. Compare both with the "
        "digest that the publisher names.",
    ),
    "SP232": Code(
        "the server answers, and not with the file",
        "The address is wrong, the file was moved, or it needs a login. Open it from the node itself: proxies and "
        "rights are the node's.",
    ),
    "SP233": Code(
        "there is no room for the file",
        "The download stops before it fills the disk up, or when it has. Make room on the node; what has come is "
        "kept for the next attempt.",
    ),
    "SP234": Code(
        "the file could not be fetched",
        "No answer, or never a whole one. Files are fetched by the node, not from here: name resolution, proxy and "
        "firewall are the node's. What has come is kept, and the next attempt goes on from there.",
    ),
    "SP241": Code(
        "there is no such program on the step's PATH",
        "A step has the environment of the login, without what an interactive shell adds in ~/.bashrc. Name the "
        "program by its whole path, or set PATH in the step's `env`.",
    ),
    "SP242": Code(
        "the service was started and is not up",
        "systemctl exits 0 as soon as the program runs, also when that dies of its configuration a moment later. "
        "stackplan reads the unit's own state, and goes on reading it for three seconds. The last lines of the "
        "unit's journal are shown, and above them the line that tells most, where that stands further up; `journalctl "
        "-u UNIT` on the node has all of them.",
    ),
    "SP243": Code(
        "systemd starts the service no more",
        "It failed more often than its unit allows (StartLimitBurst), and until the interval is over every start is "
        "refused, also when the cause is mended. Mend the cause, then run `systemctl reset-failed UNIT`.",
    ),
    "SP244": Code(
        "the service is not enabled, or still is",
        "systemctl was asked to enable or disable the unit, and its unit file's state is another one afterwards. The "
        "usual causes are a unit without an [Install] section, a name that is an alias, and a preset or package "
        "script that sets it back.",
    ),
    "SP250": Code(
        "a step that is not interruptible was cut off",
        "The controller or the node went away while its action ran, and the node has no record of how it ended; or "
        "somebody ended it there. Its postconditions do not hold, so it would have to run again, and the playbook says "
        "`interruptible: false`: such an action may not be repeated on a thing that it left half done (a firmware, a "
        "partition table). Look at the node. Then `stackplan resume RUN --again STEP` runs it again; at a terminal "
        "`stackplan resume` asks.",
    ),
    "SP251": Code(
        "a package needs a library of another CUDA",
        "The number behind `.so` of libcudart, libnvrtc and libcublas is that of the CUDA release. torch brings those "
        "of its own release alone, and finds them by a path that other packages do not have. What the package's own "
        "error advises often installs the default build once more; the build for the environment's CUDA is on another "
        "index. A library that lies in the environment and is not found is told with its place. Where `verify` finds "
        "that packages are not as the playbook asks for them, no edit is proposed: `stackplan apply` puts them right.",
    ),
    "SP252": Code(
        "an extension was compiled for another torch",
        "Its versions are in order, and a symbol of torch that it was linked with is missing. The installer counts it "
        "as installed, and its cache holds the wheel that was built for the old torch, so a plain reinstall brings the "
        "same file.",
    ),
    "SP253": Code(
        "there is no code for a GPU of the node",
        "Each build holds machine code for some chips: newer ones drop old chips, and packages beside torch may lack "
        "what torch has. On a node with several kinds of GPUs the oldest and the newest both count.",
    ),
    "SP254": Code(
        "the NVSwitch fabric is not up",
        "nvidia-smi looks healthy, the service may be active, and CUDA ends with error 802. Most often the fabric "
        "manager is of another version than the driver. `nvidia-smi -q` shows `State: Completed` and `Status: Success` "
        "when it is up.",
    ),
    "SP255": Code(
        "the driver does not run what was installed",
        "A CUDA release needs a driver of its own time or newer: 580 for CUDA 13. Errors 803 and 804 mean that a "
        "`compat` folder's libcuda, or one of another version than the module, is loaded. torch only warns, sees no "
        "GPU and exits 0.",
    ),
    "SP256": Code(
        "a companion stayed behind",
        "Packages that are compiled for each other were installed in one build, and the step moved some of them. No "
        "requirement forbids it: `torch==2.10.0` is met by any label. Name them in one step. Or a library for the CUDA "
        "before (`nvidia-cudnn-cu12`) stayed beside the one that came (`nvidia-cudnn-cu13`) and writes the same files; "
        "no installer takes it away. Or a package stayed beside its successor of another name (`sgl-kernel`, "
        "`sglang-kernel`), which owns the same files. Remove it in a step before.",
    ),
    "SP257": Code(
        "kernels from before the change are in caches still",
        "What triton, torch's extensions, inductor and flashinfer compiled is keyed by less than it depends on, so it "
        "is loaded after an upgrade as well: an undefined symbol, a hang, or wrong output. No installer clears these "
        "folders; `clear_caches` removes what is stale and leaves the rest.",
    ),
    "SP261": Code(
        "a program of the step was killed",
        "Signal 9, and not by stackplan. When memory runs out the kernel ends the largest program, which is often a "
        "compiler that runs once per core, or an installer that unpacks large files beside a running server.",
    ),
    "SP262": Code(
        "nouveau is loaded",
        "The kernel's own driver holds the GPUs. NVIDIA's installer refuses to go on, and a module that is installed "
        "all the same is not loaded until nouveau is kept out at boot.",
    ),
    "SP263": Code(
        "the driver is in use and cannot be replaced",
        "Compute processes are what nvidia-smi lists; exporters, nvidia-persistenced, container runtimes and displays "
        "hold the devices as well. The runfile that was to install a toolkit installs the driver too unless it is told "
        "`--toolkit`.",
    ),
    "SP264": Code(
        "the driver's kernel module could not be built",
        "It is compiled for each kernel, which takes that kernel's headers and its compiler. After a kernel update the "
        "next restart comes up without a driver; `driver_coherent` looks at the module of the next kernel as well.",
    ),
    "SP265": Code(
        "the installer or compiler does not support the node's gcc",
        "Each CUDA release supports gcc up to a version. The runfile compares, and so does nvcc at every compilation.",
    ),
    "SP266": Code(
        "an installer in a script found no virtual environment",
        "A command over SSH reads no profile that would activate one, and distributions refuse installations into "
        "their own Python (PEP 668).",
    ),
    "SP267": Code(
        "the loaded driver and its libraries do not go together",
        "A package manager replaced the libraries under a loaded module, or no module is loaded. nvidia-smi and every "
        "new CUDA program fail until the module of the same version is loaded.",
    ),
    "SP271": Code(
        "jobs run longer on the node than the step waits for them",
        "stackplan never cancels a job. It drains the node, waits for `timeout`, and fails when jobs are still there; "
        "unless `on_timeout: stay`, the drain is then taken back, because nothing else was done to the node. Give "
        "`timeout` as long as the longest job may run, and the step's own `timeout` a little more. A job that stays in "
        "COMPLETING for long has processes that do not end: see the node's slurmd log.",
    ),
    "SP272": Code(
        "Slurm does not let the step's user change nodes",
        "Only root, SlurmUser and operators of Slurm may drain and resume. Give the step `become: true`, or a `user` "
        "who may. The step that resumes needs the same user: the record of the drain belongs to it.",
    ),
    "SP273": Code(
        "no controller of Slurm answers",
        "slurmctld and its backups were asked until the wait was over, so it is not known how the node stands, and "
        "nothing is claimed of it. A drain that was set stays, and so does its record on the node: the next run, or "
        "the step that resumes, goes on from there.",
    ),
    "SP281": Code(
        "the node was told to restart and is still up",
        "A restart is proven by the kernel's boot id and by nothing else: the node answered, and its boot id is the "
        "old one. A service that does not stop (systemd gives each a minute and a half, some hours), a filesystem that "
        "cannot be left, or a task of the kernel that hangs holds the shutdown up. `systemctl list-jobs` on the node "
        "names what is waited for, and its console shows it. Give `timeout` more where that is slow and not stuck.",
    ),
    "SP291": Code(
        "pods are still on the node when the wait is over",
        "Evictions keep to disruption budgets: while a budget lets no pod go, most often because there is only one "
        "healthy replica, nothing is evicted. The budgets that stand in the way are named. A pod that is being deleted "
        "stays for its grace period, which `grace` shortens. Unless `on_timeout: stay`, the cordon is taken back.",
    ),
    "SP292": Code(
        "Kubernetes does not let the credentials on the node do that",
        "kubectl runs on the node, with the kubeconfig that it finds there. A kubelet's own may not evict pods. Name a "
        "`kubeconfig` whose user may get and patch nodes, list pods, and create pods/eviction; the step that uncordons "
        "needs it too.",
    ),
    **AUDIT_CODES,
}
