"""nvidia-smi's header as proof, by whatever tool somebody looks into it."""

CONDITIONS = [
    "command: {run: 'nvidia-smi -q -x | grep cuda_version | grep 13.0'}",
    "command: {run: 'nvidia-smi -q | grep \"CUDA Version\" | grep -q 13.0'}",
    "command: {run: 'nvidia-smi -q -i 0 | awk \"/CUDA Version/\"'}",
    "command: {run: 'nvidia-smi --version | grep \"CUDA Version\"'}",
    "command: {run: 'nvidia-smi | head -n 4 | grep -q 13.0'}",
    "command: {run: 'nvidia-smi -q -x | xmllint --xpath //cuda_version - | grep 13'}",
    "command: {run: 'grep -q \"CUDA Version: 13.0\" <(nvidia-smi)'}",
    'command: {run: \'grep -q "CUDA Version: 13.0" <<< "$(nvidia-smi)"\'}',
    'command: {run: \'[[ "$(nvidia-smi)" == *"CUDA Version: 13.0"* ]]\'}',
    "command: {run: 'nvidia-smi | perl -ne \"print if /CUDA Version/\"'}",
    "command: {argv: [nvidia-smi], stdout: {contains: 'CUDA Version: 13.0'}}",
    "command: {argv: [nvidia-smi, -q, -x], stdout: {contains: <cuda_version>13.0}}",
    "python: {venv: ~/e, imports: [subprocess], expr: \"'CUDA Version: 13.0' in subprocess.getoutput('nvidia-smi')\"}",
]
OTHERS = [
    "command: {run: 'nvidia-smi --query-gpu=name --format=csv,noheader | grep -q H200'}",
    "command: {run: 'nvidia-smi -q -d ECC | grep -q Enabled'}",
    "command: {run: 'nvidia-smi -L | grep -c UUID', stdout: {equals: '8'}}",
    "command: {run: 'nvcc --version | grep -q 13.0'}",
    "command: {run: 'nvidia-smi topo -m | grep -q NV18'}",
    "command: {run: 'grep -q \"CUDA Version\" /usr/local/cuda/version.txt'}",
    "python: {venv: ~/e, imports: [torch], expr: \"torch.version.cuda == '13.0'\"}",
]
SCRIPTS = [
    "nvidia-smi -q -x | grep -q '<cuda_version>13'\ntouch /x",
    "if nvidia-smi | head -4 | grep -q 'CUDA Version: 13'; then touch /x; fi",
    '[[ "$(nvidia-smi)" == *"CUDA Version: 13.0"* ]]\ntouch /x',
    "have=$(nvidia-smi -q | sed -n 's/.*CUDA Version *: //p')\ntest $have = 13.0",
]


def test_the_header_is_no_proof_by_whatever_it_is_read(spelled):
    assert spelled.conditions(CONDITIONS, "SP133") == CONDITIONS
    assert spelled.scripts(SCRIPTS, "SP133") == SCRIPTS


def test_other_questions_to_nvidia_smi_are_left_alone(spelled):
    assert spelled.conditions(OTHERS, "SP133") == []
