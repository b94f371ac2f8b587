"""The configuration files of uv and pip that a user's command would read, and which settings stand in them.

Only the names of settings are told: an address may hold a password. uv's files are TOML, which Python reads from 3.11
on only, so their keys are found line by line; a key inside a text of several lines would be taken for one.
"""

from __future__ import annotations

import configparser
import os
import re
from typing import Any, Mapping

from stackplan.node.context import Context, ProbeFailed

MOST_BYTES = 256 * 1024
MOST_SETTINGS = 40
_TABLE = re.compile(r"^\s*\[{1,2}\s*([A-Za-z0-9_.\"' -]+?)\s*\]{1,2}\s*(#.*)?$")
_KEY = re.compile(r"^\s*([A-Za-z0-9_.-]+|\"[^\"]+\")\s*=")


def configuration(variables: Mapping[str, str], venvs: list[str], context: Context) -> list[dict[str, Any]]:
    """Return the files that are there, with the settings in each; `variables` are those of the command."""
    found: list[dict[str, Any]] = []
    for tool, path in _places(variables, venvs, context):
        try:
            text = context.read(path, MOST_BYTES).decode("utf-8", "replace")
        except FileNotFoundError:
            continue
        except ProbeFailed as error:
            found.append({"tool": tool, "path": path, "settings": [], "fault": error.why})
            continue
        settings, fault = _ini_keys(text) if tool == "pip" else (_toml_keys(text), None)
        if os.path.basename(path) == "pyproject.toml":
            settings = [it[len("tool.uv.") :] for it in settings if it.startswith("tool.uv.")]
        if settings or fault:
            found.append({"tool": tool, "path": path, "settings": settings[:MOST_SETTINGS], "fault": fault})
    return found


def _places(variables: Mapping[str, str], venvs: list[str], context: Context) -> list[tuple[str, str]]:
    """Return the files in the order in which the tools read them; a variable that names one comes in addition."""
    own = variables.get("XDG_CONFIG_HOME") or os.path.join(context.home, ".config")
    shared = [it for it in (variables.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":") if it]
    uv = [
        *([variables["UV_CONFIG_FILE"]] if variables.get("UV_CONFIG_FILE") else []),
        os.path.join(context.home, "uv.toml"),
        os.path.join(context.home, "pyproject.toml"),
        os.path.join(own, "uv", "uv.toml"),
        *(os.path.join(it, "uv", "uv.toml") for it in shared),
        "/etc/uv/uv.toml",
    ]
    pip = [
        *(os.path.join(it, "pip", "pip.conf") for it in shared),
        "/etc/pip.conf",
        os.path.join(context.home, ".pip", "pip.conf"),
        os.path.join(own, "pip", "pip.conf"),
        *(os.path.join(it, "pip.conf") for it in venvs),
        *([variables["PIP_CONFIG_FILE"]] if variables.get("PIP_CONFIG_FILE") not in (None, "", os.devnull) else []),
    ]
    return list(dict.fromkeys([*(("uv", it) for it in uv), *(("pip", it) for it in pip)]))


def _toml_keys(text: str) -> list[str]:
    """Return the settings of a TOML text, each with its table in front: `index.url`, `pip.index-url`."""
    table, found = "", []
    for line in text.splitlines():
        if head := _TABLE.match(line):
            table = head.group(1).replace('"', "").replace(" ", "") + "."
        elif key := _KEY.match(line):
            found.append(table + key.group(1).strip('"'))
    return list(dict.fromkeys(found))


def _ini_keys(text: str) -> tuple[list[str], str | None]:
    """Return the settings of a pip.conf, each with its section in front, and what is wrong with it."""
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text)
    except configparser.Error as error:
        return [], f"pip cannot read it: {str(error).splitlines()[0][:200]}"
    found = [f"{section}.{key.replace('_', '-')}" for section in parser.sections() for key in parser.options(section)]
    return list(dict.fromkeys(found)), None
