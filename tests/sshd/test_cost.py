"""What asking a node costs: one connection, one command, two round trips, however many conditions there are.

Counted three times: by stackplan's own counters, by sshd's log, and by a proxy that both go through.
"""

import contextlib
import os

import pytest

from stackplan.connection.session import Session
from tests.proxy.tcp import Proxy

CONDITIONS = """
      - torch: {venv: "{{ venv }}", cuda: 12.8}
      - package: {venv: "{{ venv }}", name: torchvision, local: cu128}
      - packages_consistent: {venv: "{{ venv }}"}
      - file: {path: "/etc/hostname-of-step-NUMBER", exists: false}
      - command: {run: "echo NUMBER", stdout: NUMBER}
"""
STEP = """
  - id: step-NUMBER
    checkpoint: {}
    postconditions:"""


def five_steps():
    steps = "".join((STEP + CONDITIONS).replace("NUMBER", str(number)) for number in range(1, 6))
    return f"stackplan: 1\nname: cost\nnodes: all\nsteps:{steps}"


@pytest.fixture
def proxied(make_site):
    """A site of one node that is reached through a proxy, and the proxy."""
    with contextlib.ExitStack() as stack:
        proxies = []

        def through_a_proxy(node):
            proxies.append(stack.enter_context(Proxy(node.port)))
            return proxies[-1].port

        yield make_site(1, ports=through_a_proxy), proxies[-1]


def test_verify_of_25_conditions_is_one_connection_and_one_command(proxied):
    site, proxy = proxied
    outcome = site.run("verify", site.playbook(five_steps()), "-i", site.inventory, "--format", "json", check=0)
    conditions = [condition for step in outcome.node["steps"] for condition in step["conditions"]]
    assert [condition["verdict"] for condition in conditions] == ["held"] * 25
    (node,) = site.nodes.values()
    assert (proxy.connections, node.logins, node.commands) == (1, 1, 1)


@pytest.mark.parametrize(("command", "round_trips"), [("verify", 2), ("plan", 3)])
def test_25_conditions_are_two_round_trips_and_who_holds_the_node_a_third(proxied, monkeypatch, command, round_trips):
    site, _ = proxied
    counted = []
    close = Session.close

    def close_and_count(session):
        counted.append((session.execs, session.round_trips))
        close(session)

    monkeypatch.setattr(Session, "close", close_and_count)
    monkeypatch.setenv("STACKPLAN_STATE", str(site.state))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    from stackplan.cli.main import main  # noqa: PLC0415 - after the environment is set

    with pytest.raises(SystemExit, match=r"^0$"):
        main([command, os.fspath(site.playbook(five_steps())), "-i", os.fspath(site.inventory), "--format", "json"])
    assert counted == [(1, round_trips)]
