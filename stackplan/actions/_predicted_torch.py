"""What `torch/version.py` would say, as far as a wheel's name and metadata tell it. Pure; imports model only."""

from collections.abc import Mapping

from stackplan.model.facts import Answer, Known, Plain
from stackplan.model.regular import regular

_CUDA = regular(r"cu(\d+)(\d)")


def torch_answer(head: Mapping[str, Plain], row: Mapping[str, Plain] | None) -> Answer:
    """Return what the query `torch` would answer in an environment that holds `row`, None for no torch.

    The label is often missing from METADATA where the wheel's file name, and with it the folder, bears it. A torch
    without a label anywhere may be built for any CUDA: then `build_unknown` says so beside the version, which is known
    but for its label.
    """
    if row is None:
        return Known({**head, "installed": False, "file": None, "version": None, "cuda": None})
    version = str(row["version"])
    if "+" not in version:
        version = str(row["folder"]).removesuffix(".dist-info").partition("-")[2] or version
    label = version.partition("+")[2]
    match = _CUDA.fullmatch(label)
    cuda = f"{match[1]}.{match[2]}" if match else None
    packages = head.get("site_packages")
    folder = packages[0] if isinstance(packages, list) and packages else head.get("path")
    told = {**head, "installed": True, "file": f"{folder}/torch/version.py", "version": version, "cuda": cuda}
    if match is None and label != "cpu":
        told["build_unknown"] = "torch's CUDA build cannot be told from its metadata before it is installed"
    return Known(told)
