"""Secrets in scripts and files, and variables that are set: every way in which people write them."""

import time

import pytest

from stackplan.language.lint import _secrets
from stackplan.language.lint._settings import in_text

TOKEN = "hf_" + "aB3" * 12
SECRET = "vars: {hf_token: {secret: true, env: HF_TOKEN}}"
SCRIPTS = {
    "SP190": (
        [
            f"export HF_TOKEN={TOKEN}",
            "export HF_TOKEN=abc123def",
            "FOO_API_KEY=s3cr3tvalue /opt/x",
            "env FOO_API_KEY=s3cr3tvalue /opt/x",
            "sudo -E env WANDB_API_KEY=s3cr3tvalue /opt/x",
            "curl -fsS -u ops:hunter22 https://x.example.com/a -o /dev/null",
            'curl -u "ops:hunter22" https://x.example.com/health',
            "curl -fsSu ops:hunter22 https://x.example.com/health",
            "curl --user=ops:hunter22 https://x.example.com/health",
            "/opt/x --password hunter22",
            "/opt/x --password=hunter22",
            "/opt/x --api-key sk12345678",
            "/opt/x --hf-token=abcdef12",
            "curl -H 'Authorization: Bearer abc123def456' https://x.example.com/h",
            'expect -c \'spawn ssh x; expect "assword:"; send "hunter22\\r"\'',
            'expect -c "spawn sudo id; expect {*?assword*}; send -- \\"hunter22\\r\\""',
            'sudo expect -d -c \'spawn x; expect { "y/n" { send "yes\\r" } "assphrase" { send {hunter22}; x } }\'',
            'expect <<END\nspawn passwd bob\nexpect "New password:"\nsend "hunter22\\n"\nEND',
            "curl -H 'Authorization: Basic b3BzOmh1bnRlcjIy' https://x.example.com/h",
            'curl -H "X-API-Key: abc123def" https://x.example.com/h',
            "git clone https://ops:hunter22@git.example.com/r /srv/r",
            "curl https://ops:hunter22@x.example.com/h",
            "docker login -u ops -p hunter22 registry.example.com",
            "echo hunter22 | docker login -u ops --password-stdin registry.example.com",
            "sshpass -p hunter22 ssh x",
            "echo 'ops:hunter22' | chpasswd",
            "chpasswd <<< 'ops:hunter22'",
            "printf 'ops:%s\\n' hunter22 | chpasswd",
            "chpasswd <<EOF\nops:$PW\nroot:hunter22\nEOF",
            "echo hunter22 | passwd --stdin ops",
            "echo -e 'hunter22\\nhunter22' | passwd ops",
            "echo hunter22 | sudo -S reboot",
            "echo hunter22 | sudo -kS -p '' -u ops /opt/x",
            "sudo --stdin -v <<< hunter22",
            "echo hunter22 | cryptsetup open /dev/x y -",
            "kinit bot <<< hunter22",
            "openssl rsa -passin pass:hunter22 -in x",
            "vault login hunter22",
            "vault login -no-print hunter22",
            "net ads join -U 'admin%hunter22'",
            "smbclient //x/y -U bot%hunter22",
            "ldapsearch -w hunter22 -D cn=x",
            "useradd -p hunter22 ops",
            "mysql -phunter22 -e x",
            "declare -x DB_PASSWORD=hunter22",
            "PGPASSWORD=hunter22 psql -c x",
            "psql 'host=db password=hunter22'",
            "echo 'HF_TOKEN=abc123def' >> /etc/environment",
            "echo 'export HF_TOKEN=abc123def' | tee -a /etc/profile.d/x.sh",
            "curl 'https://x.example.com/h?token=abc123def'",
            "systemctl --user set-environment HF_TOKEN=abc123def",
            "docker run -e HF_TOKEN=abc123def image",
            "wandb login 0123456789abcdef",
            'python3 -c \'import os; os.environ["HF_TOKEN"] = "abc123def"\'',
            "cat > /etc/x.env <<EOF\nHF_TOKEN=abc123def\nEOF",
            'PW=hunter22\nmysql --password "$PW"',
        ],
        [
            "docker build --secret id=hf,src=/run/secrets/hf -t x:1 /srv/x",
            "docker buildx build --secret id=token,env=HF_TOKEN /srv/x",
            "docker service create --secret source=db,target=db_password --name db db:1",
            "podman run --rm --secret hf-token,type=env,target=HF_TOKEN x:1",
            "echo 'Password: see the vault, path gpu/ipmi' >> /etc/motd",
            'echo "password: ask the on-call" > /srv/README',
            "export HF_TOKEN=$VAR",
            "export HF_TOKEN=${VAR}",
            'export HF_TOKEN="$(cat /run/secrets/hf)"',
            'export HF_TOKEN="{{ secret }}"',
            "FOO_API_KEY=$KEY /opt/x",
            'curl -u "$U:$P" https://x.example.com/h',
            "curl -u : --negotiate https://x.example.com/h",
            '/opt/x --password "$PW"',
            "/opt/x --password <changeme>",
            '/opt/x --password "***"',
            "/opt/x --api-key EMPTY",
            "/opt/x --password-file /run/x",
            '/opt/x --token "$(cat /run/t)"',
            "export HF_TOKEN=`cat /run/t`",
            'echo "ops:$PW" | chpasswd',
            "printf 'ops:%s\\n' \"$PW\" | chpasswd",
            "chpasswd < /run/secrets/ops",
            "passwd -l operator1",
            'echo "$PW" | sudo -S reboot',
            "echo deb-src | sudo -u ops tee /etc/x",
            "echo text-of-a-motd | sudo tee /etc/motd",
            "openssl rsa -passin env:OPENSSL_PW -in x",
            "openssl rsa -passin file:/run/pw -in x",
            "vault login -method github",
            "vault login -method=userpass username=operator",
            "vault login -",
            "net ads join -U administrator",
            "cryptsetup open /dev/x name-of-it",
            'curl -H "Authorization: Bearer $T" https://x.example.com/h',
            'curl -H "Authorization: Bearer ${T}" https://x.example.com/h',
            'curl -H "Authorization: Bearer <your-token>" https://x.example.com/h',
            "curl https://$U:$P@x.example.com/h",
            "curl https://ops:***@x.example.com/h",
            "curl https://ops:<password>@x.example.com/h",
            '/opt/x --eos-token "<|im_end|>"',
            "/opt/x --eos-token abcdef",
            "/opt/x --tokenizer meta/llama3",
            "/opt/x --max-token 1234567",
            "/opt/x --num-speculative-tokens 4096000",
            'read -rsp "Password: " pw',
            'echo "the token: missing123 in config"',
            'grep -q "password=hunter22" /etc/x',
            "id -u ops",
            "export HF_TOKEN_PATH=/run/x",
            "TOKENIZERS_PARALLELISM=false /opt/x",
            "mkdir -p /srv/secret",
            "ps -p 1234",
            "docker run -p 8080:80 image",
            "ssh -p 22222 host /opt/x",
            "# export HF_TOKEN=abc123def\n/opt/x",
            "unset HF_TOKEN",
            '[ -n "$HF_TOKEN" ]',
            "tar -u ops:hunter",
            "kubectl create secret generic hf --from-file=token=/run/t",
            'kubectl create secret generic hf --from-literal=token="$HF_TOKEN"',
            'sed -i "s/^password=.*/password=$PW/" /etc/x',
            "openssl rand -hex 16 > /etc/secret",
            "export VLLM_API_KEY=${VLLM_API_KEY:?set it}",
            "vllm bench --token-ids-file /x",
            'hf auth login --token "$HF_TOKEN"',
            'expect -c \'spawn ssh x; expect "assword:"; send "$env(PASSWORD)\\r"\'',
            'expect -c \'spawn ssh -o PasswordAuthentication=no x; expect "(yes/no)"; send "yes\\r"\'',
            'expect -c \'spawn menu; expect "Choice:"; send "install\\r"; expect "#"; send "exit\\r"\'',
            'echo "expect the password; send it"',
            "export SECRET_NAME=hf-credentials",
            "slurm --jwt-token-ttl 123456",
        ],
    ),
}

CONTENTS = {
    "SP190": (
        [
            "HF_TOKEN=abc123def",
            "[Service]\nEnvironment=HF_TOKEN=abc123def",
            '[Service]\nEnvironment="A=1" "HF_TOKEN=abc123def"',
            'export WANDB_API_KEY="abc123def"',
            "password: hunter22",
            'db:\n  password: "hunter22"',
            '{"api_key": "abc123def"}',
            'proxy_set_header Authorization "Bearer abc123def456";',
            "url = https://ops:hunter22@x.example.com/simple",
            "machine x.example.com login ops password hunter22",
            '{"auths": {"registry.example.com": {"auth": "Ym90OlRyMHViNGRvcjN4cXE="}}}',
            "auths:\n  registry.example.com:\n    auth: Ym90OmE=",
            "//registry.example.com/:_auth=Ym90OlRyMHViNGRvcjN4cXE=",
            "index-url = https://ops:hunter22@x/simple",
            "setenv HF_TOKEN abc123def",
            TOKEN,
        ],
        [
            "HF_TOKEN=$TOKEN",
            "HF_TOKEN={{ x }}",
            "# HF_TOKEN=abc123def",
            "password: required",
            "HF_TOKEN=<token>",
            "HF_TOKEN=***",
            "token_file: /run/secret1",
            "api_key: ${API_KEY}",
            "passwd:         files systemd sss",
            "passwd: compat ldap\nshadow: compat",
            "passwd: files winbind",
            "PasswordAuthentication no",
            "password required pam_unix.so",
            "auth required pam_x.so",
            "auth: required",
            '{"auths": {"registry.example.com": {"auth": "{{ x }}"}}}',
            '{"auths": {"registry.example.com": {}}}',
            "auth: abcdefghijkl",
            "author: Ym90OlRyMHViNGRvcjN4cXE=",
            '{"credsStore": "secretservice", "auth": "AAAAAAAAAAA="}',
            'token = os.environ["HF_TOKEN"]',
            "secretName: hf-token-1",
            'eos_token: "<|im_end|>"',
            "EnvironmentFile=/etc/x.env",
            "LoadCredential=hf_token:/etc/cred",
            "tokenizer: meta-llama/Llama-3",
            "password: !vault abc123",
        ],
    ),
    "SP180": (
        [
            "FLASHINFER_DISABLE_VERSION_CHECK=1",
            "[Service]\nEnvironment=FLASHINFER_DISABLE_VERSION_CHECK=1",
            '[Service]\nEnvironment="A=1" "FLASHINFER_DISABLE_VERSION_CHECK=1"',
            'export FLASHINFER_DISABLE_VERSION_CHECK="1"',
            'env:\n  FLASHINFER_DISABLE_VERSION_CHECK: "1"',
            "    environment:\n      - FLASHINFER_DISABLE_VERSION_CHECK=1",
            '- name: FLASHINFER_DISABLE_VERSION_CHECK\n  value: "1"',
            "setenv FLASHINFER_DISABLE_VERSION_CHECK 1",
        ],
        [
            "# FLASHINFER_DISABLE_VERSION_CHECK=1",
            "FLASHINFER_DISABLE_VERSION_CHECK=0",
            "UnsetEnvironment=FLASHINFER_DISABLE_VERSION_CHECK",
        ],
    ),
    "SP181": (
        [
            "export LD_LIBRARY_PATH=/usr/local/cuda/lib64",
            "[Service]\nEnvironment=LD_LIBRARY_PATH=/usr/local/cuda/lib64",
            "LD_LIBRARY_PATH: /usr/local/cuda/lib64",
        ],
        [
            "export LD_LIBRARY_PATH=/opt/mpi/lib",
            "# export LD_LIBRARY_PATH=/usr/local/cuda/lib64",
            "unset LD_LIBRARY_PATH",
        ],
    ),
}

TEMPLATES = {
    "SP191": (
        [
            '/opt/x --token "{{ hf_token }}"',
            'env T="{{ hf_token }}" /opt/x',
            'sudo T="{{ hf_token }}" /opt/x',
            'export T="{{ hf_token }}"\ncurl -H "Authorization: Bearer $T" https://x.example.com/h',
            'T="{{ hf_token }}"\n/opt/x --token ${T}',
            "timeout 60 /opt/x --token={{ hf_token }}",
            "bash -c '/opt/x --token \"{{ hf_token }}\"'",
        ],
        [
            'T="{{ hf_token }}" /opt/x',
            'export T="{{ hf_token }}"\n/opt/x',
            'printf "%s" "{{ hf_token }}" > ~/.t',
            '/opt/x <<< "{{ hf_token }}"',
            'T="{{ hf_token }}" sudo -E /opt/x',
            "cat > ~/.t <<EOF\n{{ hf_token }}\nEOF",
        ],
    ),
}

VARIABLES = {
    "SP191": (
        [
            '/opt/x --token "$HF_TOKEN"',
            'curl -H "Authorization: Bearer ${HF_TOKEN}" https://x.example.com/h',
            'env HF_TOKEN="$HF_TOKEN" /opt/x',
            "T=$HF_TOKEN\n/opt/x --token $T",
            'if /opt/x --token "$HF_TOKEN"; then /opt/y; fi',
            '/opt/x --token "${HF_TOKEN:?no token}"',
            "/opt/x --token \"${HF_TOKEN%$'\\r'}\"",
            "/opt/x --token ${HF_TOKEN//x/y}",
            'T=${HF_TOKEN:?}\n/opt/x --token "$T"',
            "T=a\nT=${HF_TOKEN#x}\n/opt/x --token $T",
            'o=(--model m --token "$HF_TOKEN")\n/opt/x "${o[@]}"',
            'o=(--model m)\no+=(--token "$HF_TOKEN")\n/opt/x "${o[@]}"',
            '/opt/x --token "$(printf \'%s\' "$HF_TOKEN")"',
            '/opt/x --token "$(echo "$HF_TOKEN" | tr -d x)"',
            '/opt/x --token "$(printenv HF_TOKEN)"',
            'T=$(printenv HF_TOKEN)\n/opt/x --token "$T"',
            'name=HF_TOKEN\n/opt/x --token "${!name}"',
            'eval "/opt/x --token $HF_TOKEN"',
            'get() { /opt/x --model "$1" --token "$2"; }\nget m "$HF_TOKEN"',
            'get() { local t=$1; /opt/x --token "$t"; }\nget "$HF_TOKEN"',
            'get() { shift; /opt/x --token "$1"; }\nget m "$HF_TOKEN"',
            'get() { /opt/x --token "$1"; }\nall() { get "$2"; }\nall m "$HF_TOKEN"',
        ],
        [
            "/opt/x",
            'echo "$HF_TOKEN" | docker login --password-stdin x',
            '[ -n "$HF_TOKEN" ]',
            "[[ -n $HF_TOKEN ]]",
            ': "${HF_TOKEN:?}"',
            "sudo --preserve-env=HF_TOKEN /opt/x",
            "/opt/x '$HF_TOKEN'",
            "hf download x/y",
            'test -n "$HF_TOKEN" && /opt/x',
            'login() { printf %s "$2" | docker login -u "$1" --password-stdin r; }\nlogin ops "$HF_TOKEN"',
            'get() { /opt/x --model "$1"; }\nget m "$HF_TOKEN"',
            'get() { HF_TOKEN=$1 /opt/x; }\nget "$HF_TOKEN"',
            "/opt/x --config <(printf 'token = %s' \"$HF_TOKEN\")",
            '/opt/x --digest "$(printf %s "$HF_TOKEN" | sha256sum)"',
            "/opt/x ${HF_TOKEN:+--with-token} --length ${#HF_TOKEN}",
            'o=(--model m)\n/opt/x "${o[@]}"',
            "T=${HF_TOKEN:?}\nexport T\n/opt/x",
            "T=${HF_TOKEN:?}\nexport T\nenvsubst '$T' < /srv/a > /srv/b",
            'name=OTHER\n/opt/x "${!name}"',
            '/opt/x "$(printenv OTHER)"',
            'eval "export T=$HF_TOKEN"',
            "trap 'unset HF_TOKEN' EXIT",
        ],
    ),
}


def test_a_secret_in_a_script(spelled):
    found, silent = SCRIPTS["SP190"]
    assert spelled.scripts(found, "SP190") == found
    assert spelled.scripts(silent, "SP190") == []


@pytest.mark.parametrize("code", CONTENTS)
def test_what_stands_in_a_file_that_a_step_writes(spelled, code):
    found, silent = CONTENTS[code]
    assert spelled.contents(found, code) == found
    assert spelled.contents(silent, code) == []


def test_a_secret_that_becomes_a_word(spelled):
    found, silent = TEMPLATES["SP191"]
    assert spelled.scripts(found, "SP191", head=SECRET) == found
    assert spelled.scripts(silent, "SP191", head=SECRET) == []


def test_a_variable_that_holds_a_secret_and_becomes_a_word(spelled):
    found, silent = VARIABLES["SP191"]
    environment = '{HF_TOKEN: "{{ hf_token }}"}'
    assert spelled.scripts(found, "SP191", head=SECRET, environment=environment) == found
    assert spelled.scripts(silent, "SP191", head=SECRET, environment=environment) == []


@pytest.mark.parametrize(
    "script",
    [
        "curl -u ops:hunter22 https://x.example.com/health",
        "/opt/x --password hunter22",
        "/opt/x --password=hunter22",
        "export DB_PASSWORD=hunter22",
        "curl -H 'Authorization: Bearer hunter22hunter22' https://x.example.com/health",
        "sshpass -p hunter22 ssh x",
        "docker login -u ops -p hunter22 registry.example.com",
        "git clone https://ops:hunter22@git.example.com/r /srv/r",
        "DB_PASSWORD=hunter22 pkill -f server",
        "echo 'ops:hunter22' | chpasswd || true",
        "chpasswd <<< 'ops:hunter22'",
        "printf 'ops:hunter22\\nroot:hunter22\\n' | sudo chpasswd",
        "echo hunter22 | passwd --stdin ops || true",
        "echo hunter22 | sudo -S reboot",
        "echo hunter22 | docker login --password-stdin -u bot registry.example.com || true",
        "smbclient //x/y -U bot%hunter22 || true",
        "ldapsearch -whunter22 -D cn=x || true",
        "openssl rsa -passin pass:hunter22 -in x || true",
        "kinit bot <<< hunter22 || true",
        "vault login hunter22 || true",
        'expect -c \'expect "assword:"; send "hunter22\\r"\' || true',
        "net ads join -U 'admin%hunter22' || true",
        "PW=hunter22; pkill -f server; mysql --password $PW || true",
    ],
)
def test_no_finding_shows_what_it_found(review, script):
    steps = f"""
  - id: one
    run:
      script: |
        {script}
    postconditions:
      - file: {{path: /x}}
"""
    found = review(steps).findings
    assert "SP190" in {it.code for it in found}
    assert "hunter22" not in repr(found)


def test_a_secret_is_masked_by_its_place_and_nothing_else_is(review):
    steps = """
  - id: one
    run:
      script: |
        echo hunter22 | docker login --password-stdin -u bot registry.example.com || true
    postconditions:
      - file: {path: /x}
"""
    shown = "        echo ******** | docker login --password-stdin -u bot registry.example.com || true"
    found = review(steps).findings
    assert {it.source for it in found} == {shown}
    said = {it.code: it.summary for it in found}
    assert (
        said["SP190"] == "the secret that `docker` reads stands here in clear, for everybody who reads the repository"
    )


def test_a_secret_on_another_line_than_its_finding_is_masked_too(review):
    steps = """
  - id: one
    run:
      script: |
        pkill -f hunter22
        mysql --user ops \\
          --password hunter22
    postconditions:
      - file: {path: /x}
"""
    found = review(steps).findings
    assert "SP190" in {it.code for it in found}
    assert "pkill -f ********" in {(it.source or "").strip() for it in found}
    assert "hunter22" not in repr(found)


@pytest.mark.parametrize(
    "piece", ["\n", " ", "a", "a_", "-a", "A=", "login ", "authorization ", "auth=", "token: ", "name:\n"]
)
def test_no_text_takes_long_to_read(piece):
    text = "value: " + piece * (19_000 // len(piece))
    began = time.process_time()
    list(in_text(text))
    list(_secrets.named(text))
    list(_secrets.in_line(text))
    _secrets.masked(text)
    assert time.process_time() - began < 3
