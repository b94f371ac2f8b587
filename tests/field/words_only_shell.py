"""A login shell that takes words and single quotes and nothing else: what fish, tcsh and nushell agree on with sh.

Started as sshd starts one: with `-c` and the command line. What only some shells understand ends with status 1.
"""

import os
import re
import shlex
import sys

_FOREIGN = re.compile(r"&&|\|\||[;$`\"\\!#<>()]|(^|\s)\w+=")


def main(flag: str, line: str) -> None:
    bare = re.sub(r"'[^']*'", "", line)
    if flag != "-c" or (found := _FOREIGN.search(bare)) is not None:
        sys.exit(f"this shell does not understand {found[0] if flag == '-c' and found else flag!r}")
    if re.search(r"[!\\\n]", line):
        sys.exit("this shell expands `!` and `\\` in quotes, too")
    words = shlex.split(line)
    os.execvp(words[0], words)


if __name__ == "__main__":
    main(*sys.argv[1:])
