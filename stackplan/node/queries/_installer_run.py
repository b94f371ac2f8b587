"""Starting uv and pip for a dry run in a shadow, and reading what they say.

uv tells its changes as JSON where it knows `--output-format` (the form is a preview), and always as lines on its
standard error (uv 0.13.9):
     - torch==2.10.0+cu128
     + torch==2.11.0+cu130
     ~ numpy==2.1.0
pip tells them as an installation report (`--report`, from 22.2 on).
"""

from __future__ import annotations

import glob
import json
import os
import re
import time
from typing import Any, Mapping

from stackplan.node.context import CannotTell, Context, ProbeFailed, Ran
from stackplan.node.queries import _cache, _environment
from stackplan.node.queries._metadata_fetch import wheel_folder
from stackplan.node.queries._shadow import folders_of, packages_folder
from stackplan.node.queries._web import patience_s, without_user
from stackplan.node.queries.distributions import canonical, named_by_folder
from stackplan.node.stage import environment_for, in_memory

# Less than a batch of queries has, so that a dry run that takes too long still clears its shadow away.
TIMEOUT_S = 90.0
_LINE = re.compile(r"^ ([-+~]) (\S+?)(?:==(\S+)| @ (\S+))", re.MULTILINE)
_UNKNOWN_OPTION = re.compile(
    r"unexpected argument|unrecognized|no such option|invalid value '(json|pylock)", re.IGNORECASE
)
# What uv says in words of a dry run that would change something, or nothing. Without any of it, it did none.
_SAID = re.compile(r"^(Would |Resolved |Audited |Checked | [-+~] )", re.MULTILINE)
_RUNNER = "__pip-runner__.py"
# An index that is silent is waited for twice.
_RETRIES = "1"


def installer_environment(invocation: Mapping[str, Any], step: Mapping[str, str], context: Context) -> dict[str, str]:
    """Return the environment that the installer gets when the step of environment `step` runs."""
    dropped = invocation.get("drop_environment") or []
    return environment_for(context.environment(), dropped, step, invocation.get("environment") or {})


class Refused(Exception):
    """The installer would not do it: a conflict, a package that nobody offers, an index that does not answer."""

    def __init__(self, stage: str, ran: Ran, output: str) -> None:
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        told = [line for line in lines if not line.startswith(("Using Python", "Looking in", "Resolved "))]
        super().__init__(stage)
        self._told = {
            "stage": stage,
            "reason": (told or lines or [f"exit status {ran.exit_code}"])[0][:500],
            "output": output[-8000:],
            "exit_code": ran.exit_code,
        }

    def told(self) -> dict[str, Any]:
        return dict(self._told)


class Installer:
    """uv or pip, speaking of one shadow in place of the environment `venv`."""

    def __init__(
        self, arguments: dict[str, Any], shadow: str, venv: str, context: Context, cache: Mapping[str, str]
    ) -> None:
        """`cache` are the variables that say where the caches for dry runs lie."""
        self.shadow = shadow
        self.venv = venv
        self._step = arguments.get("step_environment") or {}
        self._cache = cache
        self._context = context
        self._deadline = time.monotonic() + TIMEOUT_S

    def make(self, invocation: dict[str, Any]) -> None:
        """Make the shadow a new environment, as the step would. Raise Refused."""
        # What would have to be fetched first is not fetched for a question.
        quiet = dict(invocation.get("environment") or {}, UV_PYTHON_DOWNLOADS="never")
        ran = self._start(dict(invocation, environment=quiet))
        if ran.exit_code != 0:
            raise Refused("make", ran, self._output(ran))

    def uv_forecast(self, invocation: dict[str, Any]) -> list[dict[str, Any]]:
        """Return what uv would change. Raise Refused, or CannotTell for a uv that cannot say."""
        argv = [*invocation["argv"], "--dry-run"]
        ran = self._start(dict(invocation, argv=[*argv, "--output-format", "json"]))
        if ran.exit_code == 2 and _UNKNOWN_OPTION.search(ran.error_text()):
            ran = self._start(dict(invocation, argv=argv))
            if ran.exit_code == 2 and _UNKNOWN_OPTION.search(ran.error_text()):
                raise CannotTell(f"this uv cannot do a dry run: {_first_line(ran.error_text())}")
            if ran.exit_code != 0:
                raise Refused("install", ran, self._output(ran))
            return _paired(_line_rows(ran.error_text()))
        if ran.exit_code != 0:
            raise Refused("install", ran, self._output(ran))
        return _paired(_json_rows(ran.text()))

    def pip_forecast(self, invocation: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Return what pip would change, and what the new packages say. Raise Refused, or CannotTell for an old pip."""
        argv = [*invocation["argv"], "--dry-run", "--quiet", "--report", "-"]
        ran = self._start(dict(invocation, argv=argv))
        if ran.exit_code == 2 and _UNKNOWN_OPTION.search(ran.error_text()):
            raise CannotTell("this pip cannot do a dry run with a report: that takes pip 22.3 or newer")
        if ran.exit_code != 0:
            raise Refused("install", ran, self._output(ran))
        try:
            rows = _first_object(ran.text())["install"]
            told = {canonical(row["metadata"]["name"]): _reported(row) for row in rows}
        except (ValueError, LookupError, TypeError) as error:
            raise ProbeFailed("pip's report cannot be read", ran.text()[:2000]) from error
        packages = packages_folder(self.shadow)
        before = {name: _version_of(packages, name) for name in told}
        return [{"name": it, "before": before[it], "after": told[it]["version"]} for it in told], told

    def locate(self, invocation: dict[str, Any], pins: dict[str, str]) -> str:
        """Return uv's lock of exactly these versions; an empty text where this uv cannot tell or does not find them."""
        stdin = "".join(f"{name}=={version}\n" for name, version in pins.items())
        # Offline first: the dry run has just put into uv's cache what it takes, and no index is asked again.
        ran = self._start(dict(invocation, argv=[*invocation["argv"], "--offline"]), stdin.encode())
        if ran.exit_code != 0:
            ran = self._start(invocation, stdin.encode())
        return ran.text() if ran.exit_code == 0 else ""

    def python_version(self) -> str:
        return _environment.find({"venv": self.shadow}, self._context).python_version or ""

    def moved(self, value: Any) -> Any:
        """Return an answer about the shadow as one about the environment itself."""
        if isinstance(value, str):
            return value.replace(self.shadow, self.venv)
        if isinstance(value, dict):
            return {key: self.moved(item) for key, item in value.items()}
        return [self.moved(item) for item in value] if isinstance(value, list) else value

    def _output(self, ran: Ran) -> str:
        return str(self.moved(ran.error_text() or ran.text()))

    def _start(self, invocation: dict[str, Any], stdin: bytes = b"") -> Ran:
        files: list[int] = []
        try:
            argv = [self._word(part, files) for part in invocation["argv"]]
            environment = self._environment(invocation)
            home = self._context.home
            ran = Context(environment=environment).run(
                argv,
                stdin=stdin,
                cwd=home if os.path.isdir(home) else "/",
                timeout_s=max(1.0, float(round(self._deadline - time.monotonic()))),
                descriptors=files,
            )
        finally:
            for descriptor in files:
                os.close(descriptor)
        if ran.exit_code < 0:
            # Memory that ran out says nothing of what the installer would do another time.
            raise ProbeFailed(f"{os.path.basename(argv[0])} was ended by signal {-ran.exit_code}", self._output(ran))
        return ran

    def _environment(self, invocation: dict[str, Any]) -> dict[str, str]:
        """Return what the installer gets in a run, but for its cache, and its patience where nobody speaks of it."""
        given = installer_environment(invocation, self._step, self._context)
        patient = {"UV_HTTP_TIMEOUT": f"{patience_s(given):g}", "UV_HTTP_RETRIES": _RETRIES}
        patient.update({"PIP_DEFAULT_TIMEOUT": f"{patience_s(given, pip=True):g}", "PIP_RETRIES": _RETRIES})
        return {**patient, **given, **({} if _cache.chosen(given) else self._cache)}

    def _word(self, part: Any, files: list[int]) -> str:
        if isinstance(part, dict):
            files.append(in_memory(str(part["file"]).encode("utf-8", "surrogateescape")))
            return f"/dev/fd/{files[-1]}"
        if part == "{pip}":
            return self._pip()
        return self.shadow + part[len("{shadow}") :] if part.startswith("{shadow}") else str(part)

    def _pip(self) -> str:
        """Return the program that runs an environment's pip with another Python."""
        pattern = os.path.join("lib", "python*", "site-packages", "pip")
        for root in (self.venv, self.shadow):
            for package in sorted(glob.glob(os.path.join(glob.escape(root), pattern))):
                runner = os.path.join(package, _RUNNER)
                if os.path.exists(runner):
                    return runner
        raise CannotTell(f"the pip of {self.venv} cannot do a dry run in a shadow: that takes pip 22.3 or newer")


def _json_rows(text: str) -> list[tuple[str, str, str]]:
    """Return (sign, name, version) of uv's JSON. Raise ProbeFailed for a form that is not known."""
    signs = {"uninstalled": "-", "installed": "+", "reinstalled": "~"}
    try:
        rows = _first_object(text)["changes"]
        return [(signs[row["action"]], str(row["name"]), str(row["version"])) for row in rows]
    except (ValueError, LookupError, TypeError) as error:
        raise ProbeFailed("uv's dry run cannot be read", text[:2000]) from error


def _first_object(text: str) -> Any:
    """Return the first JSON object that begins a line of `text`: a wrapper may print something ahead of it.

    Raise ValueError when there is none.
    """
    match = re.search(r"^\s*(?=\{)", text, re.MULTILINE)
    if match is None:
        raise ValueError("no JSON object")
    return json.JSONDecoder().raw_decode(text, match.end())[0]


def _line_rows(text: str) -> list[tuple[str, str, str]]:
    """Return (sign, name, version) of uv's lines. Raise CannotTell where the version is not among them,
    ProbeFailed where uv has not spoken of a dry run at all.
    """
    if not _SAID.search(text):
        raise ProbeFailed("uv's dry run cannot be read", text[:2000])
    rows = []
    for sign, name, version, place in _LINE.findall(text):
        known = version or named_by_folder(wheel_folder(place) or "-.dist-info")[1]
        if not known:
            raise CannotTell(f"this uv does not tell which version of {name} is at {without_user(place)}")
        rows.append((sign, name, known))
    return rows


def _paired(rows: list[tuple[str, str, str]]) -> list[dict[str, Any]]:
    """Return one row a package, by name."""
    found: dict[str, dict[str, Any]] = {}
    for sign, name, version in rows:
        row = found.setdefault(canonical(name), {"name": canonical(name), "before": None, "after": None})
        if sign in "-~":
            row["before"] = version
        if sign in "+~":
            row["after"] = version
    return [found[name] for name in sorted(found)]


def _reported(row: dict[str, Any]) -> dict[str, Any]:
    """Return what pip's report says of one package, in the form of `_metadata_fetch`."""
    about, url = row["metadata"], row["download_info"]["url"]
    stem = f"{re.sub(r'[-_.]+', '_', about['name'])}-{about['version']}.dist-info"
    return {
        "name": about["name"],
        "version": about["version"],
        "requires": about.get("requires_dist") or [],
        "requires_python": about.get("requires_python"),
        "provides_extra": about.get("provides_extra") or [],
        "folder": wheel_folder(url) or stem,
        "url": without_user(url),
        "direct": row.get("is_direct") is True,
        "why": None,
    }


def _version_of(packages: str, name: str) -> str | None:
    folders = folders_of(packages, [name])
    return named_by_folder(folders[0])[1] if folders else None


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
