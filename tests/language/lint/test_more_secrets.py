"""Secrets in clear by the options and places of one program or another, and what only looks like them."""

import pytest

FOUND = [
    "mosquitto_pub -h bus -u ops -P hunter22 -t a -m b",
    "snmpwalk -v3 -u ops -A hunter22 -X $KEY bmc",
    "ssh-keygen -t ed25519 -N hunter22 -f /srv/k",
    "openssl enc -aes-256-cbc -k hunter22 -in /a -out /b",
    "openssl enc -d -aes-256-cbc -K 0123456789abcdef -iv 00 -in /a",
    "openssl enc -aes-256-cbc -pbkdf2 -pass pass:hunter22 -in /a",
    "openssl pkcs12 -export -password pass:hunter22 -in /a",
    "openssl passwd -6 -salt abc hunter22",
    "echo hunter22 | openssl enc -aes-256-cbc -pass stdin -in /a",
    "gpg --batch --passphrase hunter22 -d /a",
    "gpg2 --batch --passphrase=hunter22 -d /a",
    "echo hunter22 | gpg --batch --passphrase-fd 0 -d /a",
    "gpg --batch --passphrase-fd=0 -d /a <<< hunter22",
    "sshpass -phunter22 scp a n2:b",
    "SSHPASS=hunter22 sshpass -e ssh n2 a",
    "ansible-vault view --vault-password hunter22 /a",
    "ansible-playbook -e ansible_become_pass=hunter22 x.yml",
    "PGPASSWORD=hunter22 psql -c x",
    "docker login -u ops -p hunter22 r.example.com",
    "skopeo login -u ops -p hunter22 r.example.com",
    "crane auth login -u ops -p hunter22 r.example.com",
    "az acr login -n x -u ops -p hunter22",
    "aws configure set aws_secret_access_key abcdEFGH0123456789",
    "npm config set //npm.example.com/:_authToken abc123def",
    "mc alias set s3 https://s3.example.com ops hunter22",
    "zip -P hunter22 /a.zip b",
    "unzip -oP hunter22 /a.zip",
    "7z x -phunter22 /a.7z",
    "keytool -list -storepass hunter22",
    "racadm -r bmc -u root -p hunter22 getsysinfo",
    "ldapmodify -x -D cn=x -w hunter22",
    "mongosh -u ops -p hunter22",
    "cryptsetup luksOpen /dev/x y <<< hunter22",
    "echo -n hunter22 | cryptsetup luksFormat -q /dev/x",
    "ssh n2 'PGPASSWORD=hunter22 psql -c x'",
    "htpasswd -bc /etc/nginx/htpasswd ops hunter22",
    "htpasswd -nbB ops hunter22 > /etc/htpasswd",
    "ipmitool user set password 2 hunter22",
    "ipmitool -I lanplus -H bmc -U ops -f /run/k user set password 3 hunter22 20",
    "redfishtool -r bmc -u ops -p hunter22 Systems",
    "ipmi-chassis -h bmc -u ops -p hunter22 --get-status",
    "psql -c \"ALTER USER ops PASSWORD 'hunter22'\"",
    "sudo -u postgres psql -qc \"create role ops with login encrypted password 'hunter22'\"",
    "mysql -e \"CREATE USER ops IDENTIFIED BY 'hunter22'\"",
    "mysql -e \"ALTER USER 'ops'@'%' IDENTIFIED WITH caching_sha2_password BY 'hunter22'\"",
    "mariadb <<END\nSET PASSWORD FOR ops = PASSWORD('hunter22');\nEND",
    "echo \"ALTER USER ops PASSWORD 'hunter22'\" | psql",
    'curl -X PATCH https://bmc/redfish/v1/AccountService/Accounts/2 -d \'{"Password":"hunter22"}\'',
    'curl https://bmc/redfish/v1/SessionService/Sessions --json \'{"UserName": "ops", "Password": "hunter"}\'',
    'curl -d @- https://bmc/x <<END\n{"password": "hunter22"}\nEND',
]
SILENT = [
    "mosquitto_pub -h bus -p 1883 -P $PASS -t a -m b",
    "snmpwalk -v3 -u ops -a SHA -x AES bmc",
    "ssh-keygen -t ed25519 -N '' -f /srv/k",
    "openssl enc -aes-256-cbc -k $PASS -in /a",
    "openssl enc -aes-256-cbc -kfile /run/k -in /a",
    "openssl enc -aes-256-cbc -pass env:PASS -in /a",
    "openssl enc -aes-256-cbc -pass file:/run/k -in /a",
    "openssl enc -base64 -in /a",
    "openssl passwd -6 -stdin < /run/k",
    'openssl passwd -6 "$PASS"',
    "gpg --batch --passphrase '' --quick-gen-key ops",
    "gpg --batch --passphrase-file /run/k -d /a",
    "gpg --batch --passphrase-fd 0 -d /a < /run/k",
    "ansible-vault view --vault-password-file /run/k /a",
    "ansible-vault view --vault-id prod@/run/k /a",
    "sshpass -f /run/k ssh n2 a",
    "PGPASSWORD=$P psql -c x",
    "docker run -p 8000:8000 image",
    "az vm list -p something",
    "aws configure set region eu-central-1",
    "aws configure set aws_secret_access_key $KEY",
    "kubectl set image deployment/x x=image",
    "7z x -p /a.7z",
    "unzip -o /a.zip",
    "cryptsetup open --key-file /run/k /dev/x y",
    "cryptsetup luksOpen /dev/x y < /run/k",
    "mkdir -p /srv/passwords",
    "htpasswd -c /etc/nginx/htpasswd ops",
    "htpasswd -ib /etc/htpasswd ops < /run/k",
    'htpasswd -b /etc/htpasswd ops "$PASS"',
    "htpasswd -D /etc/htpasswd ops",
    "ipmitool user set name 2 operator",
    'ipmitool user set password 2 "$PASS"',
    "redfishtool -r bmc -u ops -p $PASS Systems",
    "psql -c \"ALTER USER ops PASSWORD '$PASS'\"",
    'psql -c "ALTER USER ops PASSWORD NULL"',
    "psql -c \"select name from users where kind = 'password'\"",
    "mysql -e \"CREATE USER ops IDENTIFIED BY '$(cat /run/k)'\"",
    'mysql -e "CREATE USER ops IDENTIFIED WITH auth_socket"',
    "curl -X PATCH https://bmc/redfish/v1/a -d @/run/account.json",
    'curl -X PATCH https://bmc/redfish/v1/a -d \'{"Password": "\'"$PASS"\'"}\'',
    'curl -d \'{"prompt": "password: hello", "max_tokens": 8}\' http://localhost:30000/generate',
    "/opt/x --bypass=something",
]


def test_a_secret_is_found_wherever_a_program_takes_one(spelled):
    assert spelled.scripts(FOUND, "SP190") == FOUND


def test_what_stands_for_a_secret_is_left_alone(spelled):
    assert spelled.scripts(SILENT, "SP190") == []


@pytest.mark.parametrize("script", [it for it in FOUND if "hunter22" in it and "\n" not in it][::5])
def test_no_finding_shows_it(review, script):
    text = f"  - id: one\n    run:\n      script: |\n        {script}\n    postconditions: [{{file: {{path: /x}}}}]\n"
    found = review(text).findings
    assert found
    assert all("hunter22" not in f"{it.summary} {it.remedy} {it.source}" for it in found)


def test_what_stands_in_for_a_secret_or_names_its_key_is_none(spelled):
    found = [
        "psql -c \"ALTER ROLE x PASSWORD 'hunter22'\"",
        "psql -c \"ALTER ROLE x PASSWORD '__hunter22'\"",
        'curl -d \'{"password": "hunter22"}\' https://x.example.com/a',
        'curl -d \'{"secretKey": "hunter22"}\' https://x.example.com/a',
        'curl -d \'{"password": "password"}\' https://x.example.com/a',
    ]
    silent = [
        *(
            f"psql -c \"ALTER ROLE x PASSWORD '{it}'\""
            for it in ("__PW__", "CHANGEME", "change-me", "@DB_PASSWORD@", "%DB_PASSWORD%")
        ),
        'curl -d \'{"passwordRef": {"name": "x"}, "secretKey": "password"}\' https://x.example.com/a',
    ]
    assert spelled.scripts([*found, *silent], "SP190") == found


def test_a_word_that_is_to_be_replaced_is_no_secret_wherever_it_stands(spelled):
    found = [
        "psql -c \"UPDATE users SET password='hunter22' WHERE false\"",
        "psql -c \"UPDATE users SET password='changeme22'\"",
        "/opt/x --password mechange",
        "export DB_PASSWORD=holderplace",
        "export DB_PASSWORD=__hunter22",
        "/opt/x --token replacement4",
        "/opt/x --token todolist",
    ]
    words = ("CHANGEME", "change-me", "REPLACE_ME", "replace-this", "placeholder", "PLACE_HOLDER", "xxxxxxxx")
    silent = [
        *(f"psql -c \"UPDATE users SET password='{it}' WHERE false\"" for it in words),
        *(f"/opt/x --password {it}" for it in words),
        *(f"export DB_PASSWORD={it}" for it in (*words, "__DB_PASSWORD__", "##PASSWORD##", "insert-your-token")),
    ]
    assert spelled.scripts([*found, *silent], "SP190") == found
