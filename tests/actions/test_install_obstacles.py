"""Why nothing could be installed on this node: true output of uv and pip, and what looks like it and is not."""

from dataclasses import replace

import pytest

from stackplan.actions.python_packages import KIND
from stackplan.model.job import Exited, Signalled
from stackplan.model.outcome import Reason

INDEX = "https://download.pytorch.org/whl/cu130"

# uv 0.13.9 and pip 26.3, run against wheels and source folders that are made so.
OTHER_PYTHON = """\
error: No solution found when resolving dependencies
  cause: Because torch==2.11.0+cu130 has no wheels with a matching Python implementation tag (e.g., `cp311`) and only \
torch==2.11.0+cu130 is available, we can conclude that all versions of torch cannot be used.
         And because you require torch, we can conclude that your requirements are unsatisfiable.

hint: You require CPython 3.11 (`cp311`), but we only found wheels for `torch` (v2.11.0+cu130) with the following \
Python implementation tag: `cp312`
"""
OTHER_LIBC = """\
error: No solution found when resolving dependencies
  cause: Because sglkernel==1.0 has no wheels with a matching platform tag (e.g., `manylinux_2_36_x86_64`) and only \
sglkernel==1.0 is available, we can conclude that all versions of sglkernel cannot be used.

hint: Wheels are available for `sglkernel` (v1.0) on the following platform: `manylinux_2_99_x86_64`
"""
DRAWN = """\
  \u00d7 No solution found when resolving dependencies:
  \u2570\u2500\u25b6 Because armonly==1.0 has no wheels with a matching platform tag (e.g.,
      `manylinux_2_36_x86_64`) and only armonly==1.0 is available, we can conclude that
      all versions of armonly cannot be used.
"""
NEWER_PYTHON = """\
error: No solution found when resolving dependencies
  cause: Because newpy==1.0 requires Python >=3.99 and only newpy==1.0 is available, we can conclude that all versions
"""
BY_PIP = "ERROR: Package 'newpy' requires a different Python: 3.11.7 not in '>=3.99'\n"
FILE = "ERROR: armonly-1.0-py3-none-manylinux_2_28_aarch64.whl is not a supported wheel on this platform.\n"
NO_NVCC = """\
error: Failed to build `needscuda @ file:///srv/needscuda-1.0`
  cause: The build backend returned an error
  cause: Call to `b.build_wheel` failed (exit status: 1)

         [stderr]
         OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.

hint: Build failures usually indicate a problem with the package or the build environment
"""
NO_TORCH = """\
error: Failed to build `flash-attn==2.8.3`
  cause: Call to `setuptools.build_meta:__legacy__.build_wheel` failed (exit status: 1)

         [stderr]
         ModuleNotFoundError: No module named 'torch'

hint: This error likely indicates that `flash-attn@2.8.3` depends on `torch`, but doesn't declare it
"""
TWO_CUDAS = """\
  Failed building wheel for flash-attn
      RuntimeError:
      The detected CUDA version (12.8) mismatches the version that was used to compile
      PyTorch (13.0). Please make sure to use the same CUDA versions.
"""
NEW_GCC = (
    "error: Failed to build `xformers==0.0.33`\n         /usr/local/cuda-12.8/include/crt/host_config.h:143:2: error: "
    "#error -- unsupported GNU version! gcc versions later than 14 are not supported! The nvcc flag\n"
)
NO_GCC = "error: Failed to build `psutil==7.0.0`\n         error: command 'gcc' failed: No such file or directory\n"
TLS = """\
error: Failed to fetch: https://127.0.0.1:40795/simple/torch/
  cause: error sending request for url (https://127.0.0.1:40795/simple/torch/)
  cause: client error (Connect)
  cause: invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))
"""
TLS_PIP = (
    "WARNING: Retrying (Retry(total=0)) after connection broken by 'SSLError(SSLCertVerificationError(1, '[SSL: "
    "CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1006)'))': /simple/torch/\n"
)
PROXY = """\
error: Request failed after 3 retries in 11.1s
  cause: Failed to fetch: https://example.invalid/simple/torch/
  cause: client error (Connect)
  cause: tunnel error: failed to create underlying connection
  cause: tcp connect error
  cause: Connection refused (os error 111)
"""
SLOW = (
    "error: Failed to download `torch==2.11.0+cu130`\n  Caused by: Failed to download distribution due to network "
    "timeout. Try increasing UV_HTTP_TIMEOUT (current value: 30s).\n"
)
SLOW_PIP = (
    "WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by 'ReadTimeoutError(\"HTTPSConnection"
    "Pool(host='x', port=443): Read timed out. (read timeout=15)\")': /simple/torch/\n"
)
OBSTACLES = [
    (
        OTHER_PYTHON,
        "SP213",
        "no wheel of torch 2.11.0+cu130 for this node (cp311), only for cp312.",
        "create: {python: …}",
    ),
    (OTHER_LIBC, "SP213", "(manylinux_2_36_x86_64), only for manylinux_2_99_x86_64.", "Name a version at 38:7"),
    (DRAWN, "SP213", "no wheel of armonly 1.0 for this node (manylinux_2_36_x86_64).", "processor and C library"),
    (NEWER_PYTHON, "SP213", "newpy 1.0 is for Python >=3.99", "for this Python"),
    (BY_PIP, "SP213", "newpy is for Python >=3.99", "for this Python"),
    (FILE, "SP213", "armonly-1.0-py3-none-manylinux_2_28_aarch64.whl is not made", "processor and C library"),
    (
        NO_NVCC,
        "SP217",
        "needscuda has no wheel that fits",
        "wheel built for the torch of this environment (cu130) at 38:7",
    ),
    (NO_TORCH, "SP220", "flash-attn is built from source in an environment of its own", "(cu130) at 38:7."),
    (TWO_CUDAS, "SP218", "compiled by nvcc 12.8 for a torch of CUDA 13.0", "CUDA_HOME: /usr/local/cuda-13.0"),
    (NEW_GCC, "SP219", "newer than its CUDA toolkit supports (at most 14)", "CC: gcc-14, CXX: g++-14"),
    (NO_GCC, "SP219", "psutil is built from source, and the node has no C++ compiler", "build-essential"),
    (TLS, "SP214", "does not trust the certificate", "SSL_CERT_FILE"),
    (TLS_PIP, "SP214", "does not trust the certificate", "PIP_CERT"),
    (PROXY, "SP215", "The proxy that the step's environment names", "NO_PROXY"),
    (SLOW, "SP216", "waited 30 s", 'UV_HTTP_TIMEOUT: "300"'),
    (SLOW_PIP, "SP216", "waited 15 s", "PIP_DEFAULT_TIMEOUT"),
]


@pytest.fixture
def diagnose(arguments, evidence):
    """Return what the kind says of an installation that ended so."""

    def build(output, *, code=1, ending=None, reason=Reason.ACTION):
        read = arguments(venv="~/ml-env", packages=["torch"], index_url=INDEX)
        told = evidence(read, [("torch", "2.10.0+cu128")], code=code, output=output, reason=reason)
        return KIND.read(read).diagnose(told if ending is None else replace(told, ending=ending))

    return build


@pytest.mark.parametrize(("output", "code", "summary", "remedy"), OBSTACLES)
def test_what_is_said_of_it(diagnose, output, code, summary, remedy):
    (diagnosis,) = diagnose(output)
    assert diagnosis.code == code
    assert summary in diagnosis.summary
    assert remedy in diagnosis.remedy


@pytest.mark.parametrize(("output", "code", "summary", "remedy"), OBSTACLES)
def test_nothing_is_said_of_words_in_the_output_of_a_success(diagnose, output, code, summary, remedy):
    assert code not in {it.code for it in diagnose(output, code=0, reason=Reason.POSTCONDITION)}


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("error: No solution found when resolving dependencies\n  cause: Because a==1 needs b>2 and you", {"SP208"}),
        ("error: Failed to fetch: http://x/\n  cause: Connection refused (os error 111)\n", {"SP207"}),
        ("ModuleNotFoundError: No module named 'torch'\n", set()),
        ("error: Failed to build `x`\n  ModuleNotFoundError: No module named 'mypackage'\n", set()),
        ("Because torch==2.9 has wheels for cp311 and you require torch", set()),
    ],
)
def test_what_only_looks_like_it(diagnose, output, told):
    assert {it.code for it in diagnose(output)} == told


@pytest.mark.parametrize(
    ("output", "code", "ending"),
    [
        ("Resolved 3 packages in 2s\n", 0, Signalled(9)),
        (
            "         ninja: build stopped\n         c++: fatal error: Killed signal terminated program cc1plus\n",
            1,
            None,
        ),
        ("", 137, None),
    ],
)
def test_killed_for_want_of_memory(diagnose, output, code, ending):
    (diagnosis,) = diagnose(output, code=code, ending=ending)
    assert diagnosis.code == "SP261"
    assert "journalctl -k" in diagnosis.remedy


@pytest.mark.parametrize(("code", "ending"), [(143, None), (1, None), (0, Signalled(15)), (0, Exited(0))])
def test_other_ends_are_not_taken_for_that(diagnose, code, ending):
    assert diagnose("Killing time\n", code=code, ending=ending) == ()
