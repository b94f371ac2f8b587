"""Cordon this node in Kubernetes and evict its pods; take back a cordon that stackplan set, and no other."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from typing import Any

from stackplan.node.context import CannotTell, Context, ProbeFailed
from stackplan.node.queries import _kubernetes
from stackplan.node.tasks._patience import NotSo, Patience, Terminated, duration, heed_termination

TERMINATED = 143
_SETTLE_S = 30.0


def perform(arguments: dict[str, Any]) -> int:
    """Bring the node `node` (null: this machine) into `state`: drain or uncordon.

    `kubeconfig` and `context` tell kubectl where; `timeout_s` bounds all waiting. Drain: `grace_s` (null: what each pod
    says), `delete_emptydir_data`, `force`, and `stay`, whether a cordon that was set stays when the pods do not go.
    What kubectl says is passed on and decides nothing.
    """
    kubernetes = _Node(arguments)
    try:
        if arguments["state"] == "drain":
            kubernetes.drain()
        else:
            kubernetes.uncordon()
    except Terminated:
        return TERMINATED
    except NotSo as error:
        print(f"stackplan: {error}", flush=True)
        return 1
    except (CannotTell, ProbeFailed) as error:
        print(f"stackplan: how the node stands in Kubernetes is not known: {error}", flush=True)
        return 1
    return 0


class _Node:
    def __init__(self, arguments: dict[str, Any]) -> None:
        self._arguments = arguments
        self._context = Context()
        self._cluster = _kubernetes.Cluster(self._context, arguments)
        self._patience = Patience(float(arguments["timeout_s"]))
        self._told = ""
        self._mark: str | None = None

    def drain(self) -> None:
        about = self._look()
        heed_termination()
        try:
            if not about["unschedulable"]:
                about = self._cordon()
            if about["mark"] is None:
                print(f"{about['node']} was cordoned by somebody else; that is left as it is", flush=True)
            self._evict(about["node"])
        except Terminated:
            mark = self._mark or about["mark"]
            if mark is not None and not self._arguments.get("stay"):
                self._end_with_uncordon(about["node"], mark)
            raise
        except (NotSo, ProbeFailed):
            if not self._arguments.get("stay"):
                self._take_back()
            raise

    def uncordon(self) -> None:
        about = self._look()
        if about["mark"] is None:
            how = "cordoned by somebody else" if about["unschedulable"] else "schedulable"
            print(f"stackplan has no cordon on {about['node']} to take back: it is {how}", flush=True)
            return
        self._change(None, unschedulable=None)
        print(f"{about['node']} is schedulable again", flush=True)

    def _look(self) -> dict[str, Any]:
        """Return how the node stands; an API server that is away is waited for. Raise ProbeFailed when it is late."""
        while True:
            try:
                about = _kubernetes.told(self._cluster, self._arguments.get("node"))
            except ProbeFailed as error:
                if str(error) != self._told:
                    print(error, flush=True)
                    self._told = str(error)
                if self._patience.over:
                    raise
                self._patience.pause()
                continue
            return about

    def _cordon(self) -> dict[str, Any]:
        """Cordon and mark in one request; a node that somebody else cordons meanwhile is left as it is."""
        mark = f"{self._context.user}@{os.uname().nodename} {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())}"
        self._mark = mark
        return self._change(mark, unschedulable=True)

    def _change(self, mark: str | None, *, unschedulable: bool | None) -> dict[str, Any]:
        """Have mark and cordon changed in one request and return how the node stands once it is so.

        The request names the version of the node that was looked at: the server refuses it when somebody was faster,
        and then the node is looked at anew. Raise NotSo when it does not come about.
        """
        while True:
            about = self._look()
            if unschedulable and about["unschedulable"]:
                return about
            said = self._patch(about, {_kubernetes.ANNOTATION: mark}, unschedulable)
            after = self._look()
            if after["mark"] == mark and after["unschedulable"] is bool(unschedulable):
                return after
            if self._patience.over or after["version"] == about["version"]:
                raise NotSo(f"{about['node']} was not changed: {said or 'kubectl said nothing'}")
            self._patience.pause()

    def _patch(self, about: dict[str, Any], annotations: dict[str, Any], unschedulable: bool | None) -> str:
        metadata = {"resourceVersion": about["version"], "annotations": annotations}
        body = json.dumps({"metadata": metadata, "spec": {"unschedulable": unschedulable}})
        argv = self._cluster.argv("patch", "node", about["node"], "--type=merge", f"--patch={body}")
        print(f"$ kubectl patch node {about['node']} --type=merge --patch={body}", flush=True)
        ran = self._context.run(argv, timeout_s=_kubernetes.TIMEOUT_S)
        said = f"{ran.text()}\n{ran.error_text()}".strip()
        if said:
            print(said, flush=True)
        return said

    def _evict(self, node: str) -> None:
        """Evict what is to be evicted, with kubectl, and see that it is gone. Raise NotSo."""
        left_s = max(1, int(self._patience.left_s))
        words = ["drain", node, "--ignore-daemonsets", f"--timeout={left_s}s"]
        if self._arguments.get("grace_s") is not None:
            words.append(f"--grace-period={int(self._arguments['grace_s'])}")
        words += [f"--{it.replace('_', '-')}" for it in ("delete_emptydir_data", "force") if self._arguments.get(it)]
        print("$ kubectl " + " ".join(words), flush=True)
        argv = self._cluster.argv(*words)
        try:
            subprocess.run(argv, stdin=subprocess.DEVNULL, check=False, timeout=left_s + _SETTLE_S)
        except subprocess.TimeoutExpired:
            print("kubectl drain did not keep its time limit and was ended", flush=True)
        pods = self._cluster.pods(node)
        if not pods:
            print(f"{node} is empty", flush=True)
            return
        names = "; ".join(_kubernetes.name_of(it) for it in pods)
        self._print_budgets(pods)
        waited = duration(round(self._patience.waited_s))
        raise NotSo(f"after {waited} {node} is not empty: {names}")

    def _print_budgets(self, pods: list[dict[str, Any]]) -> None:
        """Print what keeps pods from being evicted, where that may be read."""
        try:
            for line in self._cluster.blocking_budgets(pods):
                print(line, flush=True)
        except (CannotTell, ProbeFailed) as error:
            print(f"disruption budgets cannot be read: {error}", flush=True)

    def _end_with_uncordon(self, node: str, mark: str) -> None:
        """Become a kubectl that takes the cordon with this mark back.

        A program that is started now is asked to end by the supervisor at once. This process has been asked already,
        and is not asked again whatever it becomes.
        """
        annotation = "/metadata/annotations/" + _kubernetes.ANNOTATION.replace("/", "~1")
        steps = [
            {"op": "test", "path": annotation, "value": mark},
            {"op": "remove", "path": annotation},
            {"op": "remove", "path": "/spec/unschedulable"},
        ]
        argv = self._cluster.argv("patch", "node", node, "--type=json", f"--patch={json.dumps(steps)}")
        print(f"$ kubectl patch node {node} --type=json --patch={json.dumps(steps)}", flush=True)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        os.execvp(argv[0], argv)  # noqa: S606 - an argv, never a shell

    def _take_back(self) -> None:
        """Undo a cordon of ours that led to nothing; pods that were evicted run elsewhere by now."""
        self._patience = Patience(_SETTLE_S)
        try:
            self.uncordon()
        except (CannotTell, ProbeFailed, NotSo) as error:
            print(f"stackplan: the cordon could not be taken back: {error}", flush=True)
