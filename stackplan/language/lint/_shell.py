"""Shell text as blocks of commands: enough of bash's grammar to tell a command from a word, a quote and a comment.

    install() { pip install x || true; }   # comment
    curl -fsS "$url" | tee log && sh -c 'echo a | grep b'

gives `pip install x` (followed by `||`), `true`, `curl …` (followed by `|`), `tee log`, `sh -c …`, and of the text
that `sh -c` runs, `echo a` and `grep b`. Substitutions are gone into, and here-documents that a shell reads; what
variables hold is read in their place where it is plain text. Text that is no shell gives some commands or none, never
an exception. docs/decisions says why no library does it.
"""

from collections.abc import Iterator
from dataclasses import field, replace
from itertools import dropwhile

from stackplan.language.lint._handed import Handed, handed, printed
from stackplan.language.lint._tree import Block, Chain, Command, Group, Part, Pipeline, flat
from stackplan.language.lint._words import DEEPEST, ORDINARY, Words
from stackplan.language.lint._wrappers import unwrapped
from stackplan.model.frozen import dataclass
from stackplan.model.regular import regular

__all__ = ["Command", "command_of", "commands", "read", "read_arguments", "unwrapped"]

_FUNCTION = regular(r"[^\s\\'\"`$<>;|&(){}=]+[ \t]*\([ \t]*\)")
_GIVEN = regular(r"\$\{?[@*]")
_TAKEN = regular(r"\$\([^()$]*\)")
"""What stands in a word without `$@`: `echo "$(date) $*"` says what it is given."""
_SEPARATOR = regular(r"[;&|\n(]")
_OWN_VERB = regular(r"\b(?:echo|printf|logger|wall|install|uninstall|sync|add)\b")
"""What stands before `$@` where a function says what it is given, or installs it, and does not run it."""
_MOST_GROUPS = 12
_ENDS = frozenset({"fi", "done", "esac", "}"})


def read(text: str, *, pipefail: bool = True) -> Block:
    """Return a shell text as a block of chains; what cannot be read is passed over."""
    return _Reader(text, 0, 0, pipefail, pipefail).read()


def read_arguments(argv: tuple[str, ...]) -> Block:
    """Return an argument list as a block of one command, with the texts that it hands to a shell."""
    command = _with_handed(unwrapped(Command(argv, 0)), {})
    return Block((Chain((Pipeline((command,)),), (), ""),))


def commands(text: str, *, pipefail: bool = True) -> tuple[Command, ...]:
    """Return all simple commands of a shell text, in its order, each followed by those inside of it."""
    return tuple(flat(read(text, pipefail=pipefail)))


def command_of(argv: tuple[str, ...]) -> tuple[Command, ...]:
    """Return the command of an argument list, and those of the text that it hands to a shell."""
    return tuple(flat(read_arguments(argv)))


def _with_handed(command: Command, values: dict[str, str]) -> Command:
    if command.depth >= DEEPEST:
        return command
    given = [block for it in handed(command) if (block := _block_of(it, command, values)).chains]
    return replace(command, handed=tuple(given)) if given else command


def _block_of(it: Handed, command: Command, values: dict[str, str]) -> Block:
    """Return the commands of a text that a command hands on; their places are the command's where no other is known."""
    depth = command.depth + 1
    elsewhere, remote = command.elsewhere or it.elsewhere, command.remote or it.remote
    # Who may use another machine or a container says nothing of who acts there.
    user = it.user or (None if it.elsewhere or it.remote else command.user)
    if it.words:
        inner = Command(it.words, command.start, depth=depth, pipefail=False, errexit=False, user=user)
        inner = replace(inner, elsewhere=elsewhere, remote=remote, stdin=command.stdin)
        return Block((Chain((Pipeline((_with_handed(unwrapped(inner), values),)),), (), ""),))
    base = command.start if it.at is None else it.at
    reader = _Reader(it.text, base, depth, it.pipefail, it.errexit, it.at is None, user, elsewhere, remote)
    reader.values, reader.lent = values, True
    return reader.read()


def _runs_given(body: str) -> bool:
    """Return whether a function runs what it is given: of `"$@"` that is so, and not of `echo "$@"`."""
    told = _TAKEN.sub("", body) if "$(" in body else body
    before = (_SEPARATOR.split(told[max(0, it.start() - 200) : it.start()])[-1] for it in _GIVEN.finditer(told))
    return any(not _OWN_VERB.search(it) for it in before)


@dataclass
class _Reader(Words):
    """Reads one text into blocks."""

    forwarding: set[str] = field(default_factory=set)
    _groups: int = 0
    _tested: bool = False

    def read(self) -> Block:
        return Block(self._chains(frozenset()))

    # Blocks, chains, pipelines, and what they are made of. Each of these moves on or stands at the end of its block.

    def _chains(self, ends: frozenset[str]) -> tuple[Chain, ...]:
        """Read up to one of the ends, which is left unread, or to the end of the text."""
        found: list[Chain] = []
        while True:
            self.skip()
            if self.at >= len(self.text) or self.word_ahead() in ends or self.operator_ahead() in ends:
                return tuple(found)
            start = self.at
            chain = self._line() or self._chain()
            if chain.pipelines:
                found.append(chain)
            if self.at == start:
                # An operator or a closing word that closes nothing.
                self.before = self.operator_ahead()
                self.at += len(self.word_ahead() or self.before) or 1

    def _line(self) -> Chain | None:
        """Read a command that ends with its line or a `;` and holds nothing but plain words, as most do."""
        start = self.at
        if self.word_ahead() or not (words := self._plain_line()):
            return None
        command = self._command_at(start, words)
        end = self.operator_ahead()
        if end == ";":
            self.take(end)
        return Chain((Pipeline((command,)),), (), end)

    def _chain(self) -> Chain:
        pipelines, operators = [], []
        while (found := self._pipeline()) is not None:
            pipelines.append(found)
            self.blanks()
            operator = self.operator_ahead()
            if operator not in ("&&", "||"):
                break
            operators.append(operator)
            self.take(operator)
            self.skip(newlines_only=True)
        end = self.operator_ahead()
        if end in (";", "&"):
            self.take(end)
        return Chain(tuple(pipelines), tuple(operators[: max(0, len(pipelines) - 1)]), end)

    def _pipeline(self) -> Pipeline | None:
        negated, parts = False, list[Part]()
        while (word := self.word_ahead()) in ("!", "time"):
            negated = negated != (word == "!")
            self.at += len(word)
            self.blanks()
            if word == "time" and self.text.startswith("-p ", self.at):
                self.at += 3
        while (part := self._part()) is not None:
            parts.append(part)
            self.blanks()
            operator = self.operator_ahead()
            if operator not in ("|", "|&"):
                break
            self.take(operator)
            self.skip(newlines_only=True)
        return Pipeline(tuple(self._fed(parts)), negated) if parts else None

    def _fed(self, parts: list[Part]) -> Iterator[Part]:
        """Yield the parts of a pipeline, each with the text that the one before prints, where that is known."""
        before: Part | None = None
        for part in parts:
            fed = part
            if isinstance(before, Command) and isinstance(part, Command) and part.stdin is None:
                told = printed(before)
                fed = part if told is None else _with_handed(replace(part, stdin=told), self.values)
            yield fed
            before = part

    def _part(self) -> Part | None:
        self.blanks()
        start = self.at
        word = self.word_ahead()
        if self.text.startswith("((", start):
            self.at = self.closing(start, "((")
            return self._command_at(start, [self.text[start : self.at]])
        if word == "[[":
            return self._test_expression()
        if self._groups < _MOST_GROUPS:
            self._groups += 1
            group = self._group(word, start)
            self._groups -= 1
            if group is not None:
                return self._with_redirections(group)
        if word in ("then", "elif", "else", "do", *_ENDS):
            return None
        return self._simple()

    def _group(self, word: str, start: int) -> Group | None:
        place = self._place(start)
        if self.text.startswith("(", start):
            return self._brackets(place)
        if not word:
            return self._function(place) if _FUNCTION.match(self.text, start) else None
        readers = {
            "{": self._braces,
            "if": self._if,
            "while": self._loop,
            "until": self._loop,
            "for": self._for,
            "select": self._for,
            "case": self._case,
            "function": self._function,
        }
        return readers[word](place) if word in readers else None

    def _brackets(self, place: int) -> Group:
        """Read `( … )`: what is switched in it ends with it."""
        self.take("(")
        options = self.pipefail, self.errexit
        body = self._block("body", ")")
        self.pipefail, self.errexit = options
        return Group("(", place, (body,))

    def _braces(self, place: int) -> Group:
        self.at += 1
        return Group("{", place, (self._block("body", "}"),))

    def _loop(self, place: int) -> Group:
        word = self.word_ahead()
        self.at += len(word)
        return Group(word, place, (self._tests("do"), self._block("body", "done")))

    def _block(self, role: str, *ends: str) -> tuple[str, Block]:
        """Read a block and the word or bracket at its end."""
        return role, self._open_block(ends, taken=ends)

    def _open_block(self, ends: tuple[str, ...], taken: tuple[str, ...] = ()) -> Block:
        block = Block(self._chains(frozenset(ends)))
        end = self.word_ahead() or self.operator_ahead()
        if end in taken and end:
            self.at += len(end)
            if end == ")":
                self.before = ")"
        return block

    def _tests(self, *ends: str) -> tuple[str, Block]:
        outer, self._tested = self._tested, True
        block = self._open_block(ends, taken=ends)
        self._tested = outer
        return "test", block

    def _if(self, place: int) -> Group:
        found: list[tuple[str, Block]] = []
        word = "if"
        while word in ("if", "elif"):
            self.at += len(word)
            found.append(self._tests("then"))
            found.append(("body", self._open_block(("elif", "else", "fi"))))
            word = self.word_ahead()
        if word == "else":
            self.at += len(word)
            found.append(("else", self._open_block(("fi",))))
        if self.word_ahead() == "fi":
            self.at += 2
        return Group("if", place, tuple(found))

    def _for(self, place: int) -> Group:
        self.at += len(self.word_ahead())
        self.blanks()
        words: list[str] = []
        if self.text.startswith("((", self.at):
            self.at = self.closing(self.at, "((")
        inner: list[Block] = []
        while self.at < len(self.text) and not self.operator_ahead():
            words.append(self._word(inner)[0])
            self.blanks()
        if words:
            self._take_paths(words[0], words[2:])
        self.skip()
        if self.word_ahead() in ("do", "{"):
            end = "done" if self.word_ahead() == "do" else "}"
            self.at += len(self.word_ahead())
            return Group("for", place, (self._block("body", end),), tuple(words), inner=tuple(inner))
        return Group("for", place, (), tuple(words), inner=tuple(inner))

    def _case(self, place: int) -> Group:
        self.at += len("case")
        self.blanks()
        inner: list[Block] = []
        words = [self._word(inner)[0]]
        self.skip()
        if self.text.startswith("in", self.at):
            self.at += 2
        found: list[tuple[str, Block]] = []
        while True:
            self.skip()
            if self.at >= len(self.text) or self.word_ahead() == "esac":
                self.at += len(self.word_ahead())
                return Group("case", place, tuple(found), tuple(words), inner=tuple(inner))
            end = self.text.find(")", self.at + self.text.startswith("(", self.at))
            self.at = len(self.text) if end < 0 else end + 1
            self.before = ")"
            found.append(("body", self._open_block((";;", ";&", ";;&", "esac"))))
            ahead = self.operator_ahead()
            if ahead in (";;", ";&", ";;&"):
                self.take(ahead)

    def _function(self, place: int) -> Group:
        if self.word_ahead() == "function":
            self.at += len("function")
            self.blanks()
        match = ORDINARY.match(self.text, self.at)
        name = match[0] if match else ""
        self.at += len(name)
        self.blanks()
        for bracket in "()":
            if self.text.startswith(bracket, self.at):
                self.take(bracket)
                self.blanks()
        self.skip()
        known, lent, start = self.values, self.lent, self.at
        self.lent = True
        own, self.own = self.own, set()
        self.in_functions += 1
        body = self._part()
        self.in_functions -= 1
        self.own = own
        self.values, self.lent = known, lent
        for it in self.by_functions.intersection(known) if not self.in_functions else ():
            self._hold(it, None)
            self.unknown.add(it)
        if _runs_given(self.text[start : self.at]):
            self.forwarding.add(name)
        block = Block((Chain((Pipeline((body,)),), (), ""),)) if body is not None else Block(())
        return Group("function", place, (("body", block),), (name,))

    def _with_redirections(self, group: Group) -> Group:
        redirections: list[tuple[str, str]] = []
        inner = list(group.inner)
        self.blanks()
        while match := self.redirection():
            self.at = match.end()
            self._redirect(match[0], redirections, inner)
            self.blanks()
        return replace(group, redirections=tuple(redirections), inner=tuple(inner)) if redirections else group

    def _test_expression(self) -> Command:
        """Read `[[ … ]]`, in which `&&`, `<` and brackets are no operators of the shell."""
        start = self.at
        words, inner = list[str](), list[Block]()
        while self.at < len(self.text) and not (words and words[-1] == "]]"):
            if self.text[self.at] in " \t\n&|()<>;":
                self.at += 1
            else:
                words.append(self._word(inner)[0])
        return self._command_at(start, words, inner=inner)

    # Simple commands.

    def _simple(self) -> Command | None:
        words: list[str] = []
        inner: list[Block] = []
        redirections: list[tuple[str, str]] = []
        stdin: tuple[str, int | None] | None = None
        start: int | None = None
        while self.at < len(self.text):
            self.blanks()
            if match := self.redirection():
                self.at = match.end()
                stdin = self._redirect(match[0], redirections, inner) or stdin
            elif self.at >= len(self.text) or self.text[self.at] in "&|;()\n":
                break
            else:
                at = self.at
                word, split = self._word(inner, first=not words)
                start = at if start is None else start
                words += split if split is not None else [word]
        if start is None and not redirections:
            return None
        return self._command_at(start or 0, words, redirections, inner, stdin)

    def _command_at(
        self,
        start: int,
        words: list[str],
        redirections: list[tuple[str, str]] | None = None,
        inner: list[Block] | None = None,
        stdin: tuple[str, int | None] | None = None,
    ) -> Command:
        self.blanks()
        wrappers: tuple[str, ...] = ()
        if words and words[0] in self.forwarding:
            # A function of the script that runs what it is given: `retry 3 COMMAND`.
            wrappers = (words[0],)
            words = list(dropwhile(lambda it: it.startswith("-") or it.isdigit(), words[1:]))
        found = unwrapped(
            Command(
                tuple(words),
                self._place(start),
                before=self.before,
                after=self.operator_ahead(),
                tested=self._tested,
                depth=self.depth,
                pipefail=self.pipefail,
                errexit=self.errexit,
                redirections=tuple(redirections or ()),
                wrappers=wrappers,
                user=self.user,
                elsewhere=self.elsewhere,
                remote=self.remote,
                stdin=stdin,
                inner=tuple(inner or ()),
            )
        )
        if found.switched:
            self._take_options(found)
            found = replace(found, pipefail=self.pipefail, errexit=self.errexit)
        self._take_values(found)
        return _with_handed(found, self.values)

    def _take_options(self, command: Command) -> None:
        for name, on in command.switched:
            if name == "pipefail":
                self.pipefail = on
            elif name == "errexit":
                self.errexit = on

    def _redirect(
        self, operator: str, redirections: list[tuple[str, str]], inner: list[Block]
    ) -> tuple[str, int | None] | None:
        """Read where an operator leads, and return the text that it feeds to the command, if it is written here."""
        self.blanks()
        target, _ = self._word(inner)
        sign = operator.lstrip("0123456789")
        if sign in ("<<", "<<-"):
            return self._heredoc(target, tabs=sign == "<<-")
        redirections.append((operator, target))
        return (target, None) if sign == "<<<" else None

    def _heredoc(self, mark: str, *, tabs: bool) -> tuple[str, int | None]:
        """Return the here-document that begins on the next line, and remember where it ends."""
        start = self.behind_heredocs
        if start is None:
            line_end = self.text.find("\n", self.at)
            start = len(self.text) if line_end < 0 else line_end + 1
        at = start
        while at < len(self.text):
            end = self.text.find("\n", at)
            end = len(self.text) if end < 0 else end
            line = self.text[at:end]
            if (line.lstrip("\t") if tabs else line) == mark:
                self.behind_heredocs = min(end + 1, len(self.text))
                return self.text[start:at], None if self.fixed else self.base + start
            at = end + 1
        self.behind_heredocs = len(self.text)
        return self.text[start:], None if self.fixed else self.base + start

    def _substitution(self, opening: str) -> Block:
        if opening == "`":
            return self._backquoted()
        # What is switched in `$(…)` ends with it.
        kept = self.pipefail, self.errexit, self._tested, self.before, self._groups, self.values, self.lent
        self.at += len(opening)
        self.depth += 1
        self.before, self._tested, self.lent = "", False, True
        block = self._open_block((")",), taken=(")",))
        self.depth -= 1
        self.pipefail, self.errexit, self._tested, self.before, self._groups, self.values, self.lent = kept
        return replace(block, substituted=True)

    def _backquoted(self) -> Block:
        start = self.at
        self.at = self.closing(start, "`")
        within, base = self.text[start + 1 : self.at - 1], self._place(start + 1)
        reader = _Reader(
            within,
            base,
            self.depth + 1,
            self.pipefail,
            self.errexit,
            self.fixed,
            self.user,
            self.elsewhere,
            self.remote,
        )
        reader.values, reader.lent = self.values, True
        return replace(reader.read(), substituted=True)
