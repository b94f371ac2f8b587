"""The stand-in for torch's GPU: it computes rightly, and refuses chips for which its torch has no code."""

import pytest

from stackplan.lab import torch_device
from stackplan.lab.torch_device import Tensor, equal


def test_it_computes_what_a_gpu_would():
    x = Tensor(range(6), None, "cuda:0")
    assert (x * 2 + 1).cpu().values == [1, 3, 5, 7, 9, 11]
    assert (x * 2 + 1).sum().item() == 36
    square = Tensor([1, 2, 3, 4]).reshape(2, 2).float()
    assert (square @ square).values == [7.0, 10.0, 15.0, 22.0]
    assert equal((square.to("cuda:1") @ square.to("cuda:1")).cpu(), square @ square)
    assert not equal(square, square + 1)
    assert (x % 4).values == [0, 1, 2, 3, 0, 1]


@pytest.mark.parametrize(
    ("capability", "architectures", "runs"),
    [
        ("12.0", ("sm_90", "sm_120"), True),
        ("9.0", ("sm_90", "sm_120"), True),
        ("8.9", ("sm_80", "sm_90"), True),
        ("7.0", ("sm_75", "sm_80"), False),
        ("12.0", ("sm_80", "sm_90", "sm_100"), False),
        ("12.1", ("sm_120",), True),
    ],
)
def test_what_there_is_code_for(monkeypatch, capability, architectures, runs):
    monkeypatch.setattr(torch_device, "gpus", lambda: [("a GPU", "1.0"), ("a GPU", capability)])
    if runs:
        assert torch_device.refuse_without_code("cuda:1", architectures) is None
    else:
        with pytest.raises(RuntimeError, match="no kernel image is available"):
            torch_device.refuse_without_code("cuda:1", architectures)
