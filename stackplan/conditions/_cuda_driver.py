"""Which driver a CUDA release needs at least.

Only the major release binds: from CUDA 11 on, programs built for any release of a major one run on the first driver
branch of that major one (minor version compatibility). Source: NVIDIA, CUDA Compatibility, table of minor version
compatibility, https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html, read on 2026-12-02:
CUDA 13.x needs 580 or newer, 12.x 525, 11.x 450.
"""

_MINIMUM_BRANCH = {11: 450, 12: 525, 13: 580}


def minimum_branch(release: str) -> int | None:
    """Return the oldest driver branch on which programs of a CUDA release run; None where the table does not say."""
    return _MINIMUM_BRANCH.get(int(release.partition(".")[0]))
