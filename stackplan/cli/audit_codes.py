"""What the codes of a plan's audit of a node's environment mean (SP3xx). None of them stops anything."""

from stackplan.cli.code import Code

AUDIT_CODES: dict[str, Code] = {
    "SP300": Code(
        "the node's shells and settings could not be looked at",
        "The rest of the plan does not depend on it. Recorded facts of an older version, of another playbook, or made "
        "with `--no-audit`, do not hold the answer; record them again with `stackplan facts`.",
    ),
    "SP301": Code(
        "settings of the node decide what an installer does in a step",
        "A `run` script that starts uv or pip, and a `python_packages` step with `inherit_config: true`, obey the "
        "`UV_…` and `PIP_…` variables of the login and the configuration files of the node. Those named here choose "
        "the index, the version or the build. `python_packages` without `inherit_config` sees nothing of them.",
    ),
    "SP302": Code(
        "an installer obeys settings in other shells or services that the steps do not have",
        "A `UV_…` or `PIP_…` variable (an index, a constraint) is set in a profile, for sudo or in a service's unit, "
        "and not in what the steps get. The steps are not affected. Somebody who runs the same uv or pip command by "
        "hand gets other versions or builds, and may so replace what a step installed and proved. Remove the variable "
        "where it is set.",
    ),
    "SP304": Code(
        "shells find a program in different places",
        "A command over SSH has a shorter PATH than a login shell: what stands in ~/.profile, or in ~/.bashrc after "
        "the line that ends it for shells that are not interactive, is missing. sudo replaces PATH by its secure_path. "
        "So a check by hand may pass with one program while the step starts another, or none.",
    ),
    "SP305": Code(
        "CUDA_HOME or CUDA_PATH leads elsewhere",
        "What compiles at run time (flashinfer, triton, torch's extensions) takes the toolkit that CUDA_HOME names, "
        "and where it is not set the one of nvcc. If that is another one than the playbook installs, or another one in "
        "the service than in a shell, kernels are compiled anew, with the wrong compiler, or not at all.",
    ),
    "SP306": Code(
        "LD_LIBRARY_PATH comes before the environment's own libraries",
        "Wheels bring their CUDA libraries and find them by paths relative to themselves. A folder in LD_LIBRARY_PATH "
        "is searched first, so an older library of the same name is loaded, and calls fail with undefined symbols. A "
        "`compat` folder replaces the driver's own libcuda, which works on data centre GPUs only. An empty part "
        "stands for the current folder.",
    ),
    "SP307": Code(
        "LD_PRELOAD is set",
        "The library is loaded into every program that is started there, Python and the installers included, before "
        "all others.",
    ),
    "SP308": Code(
        "an environment also takes modules from elsewhere",
        "PYTHONPATH and PYTHONHOME, .pth files with folders outside and a sitecustomize module change what Python "
        "imports. What is found there may be of another version than the package that is installed and proven.",
    ),
    "SP309": Code(
        "an environment holds packages that uv does not see",
        "With `include-system-site-packages = true` Python imports packages of its base as well, and an environment of "
        "conda has packages of conda's. uv looks at neither and installs a second copy; which one is imported depends "
        "on the order of folders.",
    ),
    "SP310": Code(
        "a profile activates another environment",
        "Whoever logs in is in conda's base or in another virtual environment. `uv pip install` and `python` by hand "
        "then mean that one, so a check by hand says nothing of the environment that the playbook changes.",
    ),
    "SP311": Code(
        "the environment belongs to a uv project",
        "`uv run` and `uv sync` make a project's environment agree with its uv.lock: they put back the versions that a "
        "step replaced. `uv pip install` does not touch the lock.",
    ),
    "SP312": Code(
        "the environment belongs to another user than the step's",
        "The step may write there, so it works. Its files then belong to the step's user, and the environment's owner "
        "can neither upgrade nor remove them.",
    ),
    "SP313": Code(
        "there is little room where an installation writes",
        "An installer writes to its cache, to the folder for temporary files and to the environment, which may be on "
        "three filesystems. When one fills up, the old version is gone and the new one half there. Looked at are "
        "5 GiB for environment and cache, 1 GiB for temporary files.",
    ),
    "SP314": Code(
        "uv's cache and the environment are on two filesystems",
        "uv then copies each file instead of linking it, which takes longer and needs the room twice.",
    ),
    "SP315": Code(
        "there are several environments of one name",
        "They lie where environments are usually put: the user's home, /root, /opt, /srv, /data, /workspace. Make sure "
        "that the service uses the one that the playbook names.",
    ),
    "SP316": Code(
        "programs run from an environment that a step changes",
        "They go on with the files that they have loaded, and load new ones for the rest. A server that imports a "
        "module late, or starts another worker, then runs on two versions at once. Without root only the processes of "
        "the step's own user are seen.",
    ),
    "SP317": Code(
        "flashinfer's check of its own packages is switched off",
        "FLASHINFER_DISABLE_VERSION_CHECK lets flashinfer-python, -cubin and -jit-cache of different versions load "
        "together. The fault shows later, as wrong results or illegal memory accesses.",
    ),
    "SP318": Code(
        "settings of what is compiled at run time differ",
        "The chips that are compiled for, the compiler, or the folder of compiled kernels is set in one place and not, "
        "or otherwise, in another. A check in a step then uses other kernels than the server, and stale ones may lie "
        "where nobody looks.",
    ),
    "SP319": Code(
        "what a login shell finds and sets is unknown, or its profile prints",
        "The user's login shell was started twice, interactive and not, with five seconds for each, nothing to read "
        "and no terminal, to print its variables. Its profile hung, ended the shell, started another one, sent the "
        "output elsewhere or left PATH empty, so the steps could not be compared with it; the rest of the audit is "
        "whole. What it leaves running is ended. The plan itself needs no login shell, but people and some services "
        "do. In the profile, let `[ -t 0 ]` stand before what waits or ends the shell, and `[ -t 1 ]` before what "
        "prints.",
    ),
    "SP320": Code(
        "proxies are not the same in all shells",
        "Proxies are often set in a profile, which steps do not read, and dropped by sudo. An index is then reached by "
        "hand and not by the step, or the other way round.",
    ),
}
