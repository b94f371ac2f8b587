"""A node whose kubectl speaks to the stand-in of an API server."""

import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from tests.kubernetes.stand_in import StandIn
from tests.node.isolated import IsolatedNode

KUBECTL = shutil.which("kubectl")
CONFIGURATION = """
apiVersion: v1
kind: Config
current-context: stand-in
clusters: [{{name: stand-in, cluster: {{server: "{url}"}}}}]
users: [{{name: ops, user: {{}}}}]
contexts: [{{name: stand-in, context: {{cluster: stand-in, user: ops}}}}]
"""


def pytest_collection_modifyitems(items):
    """Mark the tests of this folder, and skip them where there is no kubectl."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.kubernetes)
            if KUBECTL is None:
                item.add_marker(pytest.mark.skip(reason="kubectl is not installed"))


@pytest.fixture
def server():
    with StandIn() as it:
        thread = threading.Thread(target=it.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield it
        finally:
            it.shutdown()
            thread.join()


@pytest.fixture
def node(server, tmp_path):
    """A node program on this machine with a kubeconfig of its own; kubectl keeps its cache there, too."""
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text(CONFIGURATION.format(url=server.url))
    settings = {"HOME": tmp_path, "XDG_STATE_HOME": tmp_path / "state", "KUBECONFIG": "", "NO_PROXY": "*"}
    enter = ("env", *(f"{key}={value}" for key, value in settings.items()))
    server.add_node("gpu-01", hostname=os.uname().nodename.lower())
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        it = IsolatedNode(process, enter)
        try:
            yield it
        finally:
            if it.session is not None:
                it.session.close()
