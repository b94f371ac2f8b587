"""Drain this node in Slurm and wait until it is empty; take back a drain that stackplan set, and no other."""

from __future__ import annotations

import secrets
import time
from typing import Any

from stackplan.node import drains
from stackplan.node.context import CannotTell, Context, ProbeFailed
from stackplan.node.queries import _slurm
from stackplan.node.tasks._patience import NotSo, Patience, Terminated, duration, heed_termination

TERMINATED = 143
_SETTLE_S = 30.0
_NOT_UP = {"DRAIN", "FAIL", "NOT_RESPONDING", "INVALID_REG"}


def perform(arguments: dict[str, Any]) -> int:
    """Bring the node `node` (null: this machine) into `state`: drain or resume.

    `timeout_s` bounds all waiting. Drain: `reason`, and `stay`, whether a drain that was set stays when the wait for
    jobs is over or is cut off; else it is taken back. What scontrol says is passed on and decides nothing.
    """
    slurm = _Node(arguments.get("node"), Patience(float(arguments["timeout_s"])))
    try:
        if arguments["state"] == "drain":
            slurm.drain(str(arguments["reason"]), stay=bool(arguments["stay"]))
        else:
            slurm.resume()
    except Terminated:
        return TERMINATED
    except NotSo as error:
        print(f"stackplan: {error}", flush=True)
        return 1
    except (CannotTell, ProbeFailed) as error:
        print(f"stackplan: how the node stands in Slurm is not known: {error}", flush=True)
        return 1
    except (OSError, ValueError) as error:
        print(f"stackplan: the record of the drain cannot be kept: {error}", flush=True)
        return 1
    return 0


class _Node:
    """The node as Slurm has it; `name` is known once it was looked at."""

    def __init__(self, asked: str | None, patience: Patience) -> None:
        self._asked = asked
        self._patience = patience
        self._context = Context()
        self._told = ""

    def drain(self, reason: str, *, stay: bool) -> None:
        about = self._look()
        heed_termination()
        mine = _is_ours(about)
        try:
            if not about["draining"]:
                mine = True
                about = self._set(about, reason)
                mine = _is_ours(about)
            if not mine:
                print(f"{about['node']} is drained by {about['reason_user']}: {about['reason']}", flush=True)
                print("that drain is left as it is", flush=True)
            self._empty(about)
        except (NotSo, Terminated):
            if mine and not stay:
                self._take_back(about["node"])
            raise

    def resume(self) -> None:
        about = self._look()
        record = about["ours"]
        if record is None:
            print(f"stackplan has no drain on {about['node']} to take back ({about['state']})", flush=True)
            return
        self._undrain(about, record)

    def _look(self) -> dict[str, Any]:
        """Return how the node stands; a controller that fails over is waited for. Raise ProbeFailed when it is late."""
        while True:
            try:
                about = _slurm.look(self._context, self._asked)
            except ProbeFailed as error:
                self._tell(str(error))
                if self._patience.over:
                    raise
                self._patience.pause()
                continue
            self._asked = about["node"]
            return about

    def _set(self, before: dict[str, Any], reason: str) -> dict[str, Any]:
        """Set a drain with a mark of its own, once how the node stands is on disk; return how it stands then."""
        node, mark = before["node"], secrets.token_hex(4)
        kept = {key: before[key] for key in ("state", "base", "flags", "reason", "reason_user", "reason_since")}
        drains.write(f"slurm-{node}", {"mark": mark, "reason": reason, "before": kept, "since": time.time()})
        said = self._update(node, "State=DRAIN", f"Reason={_slurm.marked(reason, mark)}")
        after = self._look()
        if after["draining"] and after["mark"] == mark:
            print(f"{node} is drained: {before['state']} before, {after['state']} now", flush=True)
            return after
        drains.remove(f"slurm-{node}")
        if not after["draining"]:
            raise NotSo(f"{node} was not drained: {said or 'it is ' + after['state'] + ' afterwards'}")
        return {**after, "ours": None}

    def _empty(self, about: dict[str, Any]) -> None:
        """Wait until nothing runs on the node. Raise NotSo when that lasts too long or the drain is gone."""
        while True:
            if not about["draining"]:
                drains.remove(f"slurm-{about['node']}")
                raise NotSo(
                    f"the drain of {about['node']} is gone while its jobs are waited for: somebody took it back, or "
                    "slurmctld died before it had saved it"
                )
            if not about["occupants"]:
                print(f"{about['node']} is {about['state']}, and no job is on it", flush=True)
                return
            self._tell("waiting for\n  " + "\n  ".join(about["occupants"]))
            if self._patience.over:
                after = duration(self._patience.timeout_s)
                raise NotSo(f"after {after} {about['node']} is not empty: {'; '.join(about['occupants'])}")
            self._patience.pause()
            about = self._look()

    def _take_back(self, node: str) -> None:
        """Undo a drain that led to nothing: nothing else was done to the node."""
        self._patience = Patience(_SETTLE_S)
        try:
            about = self._look()
            if about["ours"] is not None:
                self._undrain(about, about["ours"])
        except (CannotTell, ProbeFailed, NotSo) as error:
            print(f"stackplan: {node} stays drained: {error}", flush=True)

    def _undrain(self, about: dict[str, Any], record: dict[str, Any]) -> None:
        """Make the node what it was before, if the drain on it is ours; forget the record. Raise NotSo."""
        node, before = about["node"], record["before"]
        if not about["draining"]:
            print(f"somebody took the drain of {node} back already: it is {about['state']}", flush=True)
        elif about["mark"] != record["mark"]:
            print(f"{node} was drained anew by {about['reason_user']}: {about['reason']}", flush=True)
            print("that drain is left as it is", flush=True)
        else:
            was_up = _is_up({**before, "flags": [it for it in before["flags"] if it != "NOT_RESPONDING"]})
            # RESUME also ends a DOWN that a restart under the drain has left; UNDRAIN leaves a DOWN from before alone.
            said = self._update(node, "State=RESUME" if was_up else "State=UNDRAIN")
            about = self._after_undrain(record["mark"], up=was_up)
            if about["mark"] == record["mark"] and about["draining"]:
                raise NotSo(f"{node} is still {about['state']}: {said or 'scontrol said nothing'}")
            if before["reason"] and about["mark"] == record["mark"]:
                self._update(node, f"Reason={before['reason']}")
            print(f"the drain of {node} is taken back: it is {about['state']}, {before['state']} before", flush=True)
            if was_up and not about["draining"] and not _is_up(about):
                drains.remove(f"slurm-{node}")
                raise NotSo(f"{node} took jobs before, and is {about['state']} without the drain")
        drains.remove(f"slurm-{node}")

    def _after_undrain(self, mark: str, *, up: bool) -> dict[str, Any]:
        """Return how the node stands once our drain is gone, and the node is up if it is to be: its slurmd has to
        answer a ping first. After some time: how it stands then.
        """
        patience = Patience(min(_SETTLE_S, self._patience.left_s))
        while True:
            about = self._look()
            gone = not about["draining"] or about["mark"] != mark
            if (gone and (about["draining"] or not up or _is_up(about))) or patience.over:
                return about
            patience.pause()

    def _update(self, node: str, *what: str) -> str:
        """Have scontrol change the node and return what it said; whether it did is for a look to tell."""
        argv = ["scontrol", "update", f"NodeName={node}", *what]
        print("$ " + " ".join(argv), flush=True)
        try:
            ran = self._context.run(argv, timeout_s=_slurm.TIMEOUT_S)
        except ProbeFailed as error:
            print(error, flush=True)
            return str(error)
        said = f"{ran.text()}\n{ran.error_text()}".strip()
        if said:
            print(said, flush=True)
        return said

    def _tell(self, text: str) -> None:
        """Print what has not just been printed."""
        if text != self._told:
            print(text, flush=True)
            self._told = text


def _is_up(about: dict[str, Any]) -> bool:
    return about["base"] in ("IDLE", "MIXED", "ALLOCATED") and not _NOT_UP & set(about["flags"])


def _is_ours(about: dict[str, Any]) -> bool:
    record = about["ours"]
    return record is not None and bool(about["draining"]) and about["mark"] == record["mark"]
