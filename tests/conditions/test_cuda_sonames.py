"""The CUDA that a library, a distribution or a label is named for; and statements about CUDA that make no sense."""

import pytest

from stackplan.conditions._cuda_evidence import required_major
from stackplan.conditions._cuda_sonames import label_major, majors, named_for, named_major
from stackplan.conditions.cuda_coherent import CudaCoherent
from stackplan.conditions.same_build import SameBuild
from stackplan.model.arguments import Arguments
from stackplan.model.diagnosis import Invalid
from stackplan.model.location import Location


@pytest.mark.parametrize(
    ("library", "found"),
    [
        # As they lie in NVIDIA's wheels for 12.8 and 13.0, and in the toolkit 11.8.
        ("libcudart.so.11.0", {11}),
        ("libcudart.so.12", {12}),
        ("libcudart.so.13", {13}),
        ("libcublasLt.so.13", {13}),
        ("libnvrtc.so.11.2", {11}),
        ("libnvrtc.alt.so.13", {13}),
        ("libnvrtc-builtins.so.13.0", {13}),
        ("libnvJitLink.so.12", {12}),
        ("libcupti.so.12", {12}),
        ("libnppicc.so.12", {12}),
        ("libcufft.so.11", {12}),
        ("libcufft.so.12", {13}),
        ("libcufftw.so.10", {10, 11}),
        ("libcusolver.so.11", {11, 12}),
        ("libcusolverMg.so.12", {13}),
        ("libcusparse.so.11", {11}),
        ("libcusparse.so.12", {12, 13}),
        ("libcudart.3eda8113.so.13", {13}),
        ("libcudart-d0da41ae.so.11.0", {11}),
        ("libnvjpeg-1a359ba7.so.13.0.1.86", {13}),
        ("libcurand.so.10", set()),
        ("libcufile.so.0", set()),
        ("libcudnn.so.9", set()),
        ("libcusparseLt.so.0", set()),
        ("libnccl.so.2", set()),
        ("libcuda.so.1", set()),
        ("libcudart.so", set()),
        ("libc.so.6", set()),
    ],
)
def test_a_library_belongs_to_the_cuda_that_numbers_it(library, found):
    assert majors(library) == found


@pytest.mark.parametrize(
    ("name", "major", "other"),
    [
        ("nvidia-nccl-cu12", 12, "nvidia-nccl-cu13"),
        ("cupy-cuda12x", 12, "cupy-cuda13x"),
        ("jax-cuda12-plugin", 12, "jax-cuda13-plugin"),
        ("tensorrt-cu12-libs", 12, "tensorrt-cu13-libs"),
        ("nvidia-cublas", None, "nvidia-cublas"),
        ("cuda-python", None, "cuda-python"),
        ("customcu12x1", None, "customcu12x1"),
    ],
)
def test_a_distribution_is_named_for_a_cuda_and_for_another(name, major, other):
    assert (named_major(name), named_for(name, 13)) == (major, other)


@pytest.mark.parametrize(
    ("version", "major"),
    [
        ("2.10.0+cu128", 12),
        ("0.3.21+cu130", 13),
        ("1.8.0+cu92", 9),
        ("2.3.0+cu118", 11),
        ("2.8.3+cu12torch2.4cxx11abiTRUE", 12),
        ("2.14.0+git1a2b.cu130", 13),
        ("2.10.0+cpu", None),
        ("2.10.0+rocm6.4", None),
        ("2.10.0", None),
    ],
)
def test_a_label_names_a_cuda(version, major):
    assert label_major(version) == major


@pytest.mark.parametrize(
    ("requires", "major"),
    [
        (("filelock", "nvidia-cublas-cu12==12.8.4.1; platform_system == 'Linux'", "nvidia-nccl-cu12==2.27.5"), 12),
        (("cuda-toolkit[cublas,cudart]==13.0.3; platform_system == 'Linux'", "nvidia-cudnn-cu13==9.24.0.43"), 13),
        (("nvidia-cuda-runtime==13.0.96",), 13),
        (("nvidia-nccl-cu12==2.27.5", "nvidia-nccl-cu13==2.30.7"), None),
        (("filelock",), None),
    ],
)
def test_torch_tells_by_what_it_requires(requires, major):
    assert required_major(requires) == major


def read(kind, **values):
    return kind.read(Arguments({"venv": "~/ml-env", **values}, Location("p.yaml", 7, 9)))


@pytest.mark.parametrize("cuda", ["cu130", "13.x", "", "none", "13.0.1", "13."])
def test_a_release_is_made_of_numbers(cuda):
    with pytest.raises(Invalid, match=r"`cuda` is not a CUDA release such as 13\.0"):
        read(CudaCoherent, cuda=cuda)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"packages": ("torch",)}, "fewer than two different packages"),
        ({"packages": ("flashinfer-python", "flashinfer_python")}, "fewer than two different packages"),
        ({"packages": ("torch", "torch vision")}, "'torch vision' in `packages` is no package's name"),
        ({"packages": ("torch", "torchvision"), "by": "build"}, "neither `label` nor `version`"),
    ],
)
def test_a_family_is_two_packages_or_more_by_label_or_version(values, why):
    with pytest.raises(Invalid, match=why):
        read(SameBuild, **values)
