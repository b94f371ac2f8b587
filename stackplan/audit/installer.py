"""Which settings of uv and pip decide what is installed, and from where; a cache, a proxy, a time limit do not.

The names are those of uv 0.13 and pip 26; a setting is called alike as an option, a variable and a line of a file.
"""

_SHARED = frozenset(
    {
        "config-file",
        "constraint",
        "extra-index-url",
        "find-links",
        "index-url",
        "no-binary",
        "no-build-isolation",
        "no-deps",
        "no-index",
        "only-binary",
        "require-hashes",
    }
)
_OF = {
    "uv": _SHARED
    | {
        "build-constraint",
        "build-constraint-dependencies",
        "constraint-dependencies",
        "default-index",
        "exclude",
        "exclude-dependencies",
        "exclude-newer",
        "exclude-newer-package",
        "fork-strategy",
        "index",
        "index-strategy",
        "no-binary-package",
        "no-build",
        "no-build-package",
        "no-sources",
        "offline",
        "override",
        "override-dependencies",
        "prerelease",
        "project-environment",
        "python",
        "reinstall",
        "resolution",
        "sources",
        "system-python",
        "torch-backend",
        "upgrade",
    },
    "pip": _SHARED
    | {"pre", "prefer-binary", "prefix", "requirement", "root", "target", "upgrade", "upgrade-strategy", "user"},
}
INSTALLERS = tuple(_OF)


def variable_decides(tool: str, name: str) -> bool:
    """Return whether a variable of that name has `tool` install something else, or from elsewhere."""
    family = f"{tool.upper()}_"
    return name.startswith(family) and name[len(family) :].lower().replace("_", "-") in _OF[tool]


def setting_decides(tool: str, name: str) -> bool:
    """Return the same of a line of a configuration file, which stands there with its table or section in front."""
    table, _, key = name.rpartition(".")
    first = table.split(".")[0]
    # An index is a table of its own in uv's files.
    return key in _OF[tool] or (tool == "uv" and first in ("index", "sources"))
