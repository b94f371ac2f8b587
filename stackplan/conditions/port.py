"""The kind `port`: whether something takes connections at a TCP port."""

from typing import ClassVar, Self

from stackplan.conditions._answers import mapping, unanswered
from stackplan.model.arguments import Arguments
from stackplan.model.condition import Recheck
from stackplan.model.facts import Facts, Query
from stackplan.model.frozen import dataclass
from stackplan.model.kind import ConditionKind
from stackplan.model.regular import regular
from stackplan.model.verdict import Verdict, held, not_held

TIMEOUT_S = 5.0
HOST = regular(r"[A-Za-z0-9._:%-]+")


@dataclass(frozen=True, slots=True)
class Port(ConditionKind):
    """Something takes TCP connections at a port of a host, as seen from the node; the host is localhost if not given.

    A connection is made and closed again; nothing is sent. A refused connection, an unreachable host, a name that does
    not exist and no answer within 5 seconds are facts: the condition does not hold. A resolver that does not answer
    leaves it unknown. What it is that answers is not looked at: for that is `http`.
    """

    recheck: ClassVar[Recheck] = Recheck.FINAL
    steady: ClassVar[bool] = False

    port: int
    host: str

    @classmethod
    def read(cls, arguments: Arguments) -> Self:
        port = arguments.optional_integer("port")
        if port is None or not 0 < port < 65536:
            raise arguments.invalid("port", "`port` is not a port's number", expected="a number from 1 to 65535")
        host = arguments.text("host", "localhost")
        if not HOST.fullmatch(host):
            raise arguments.invalid("host", "`host` is not a host's name or address", expected="such as localhost")
        return cls(port, host)

    def describe(self) -> str:
        return f"port {self.port} of {self.host} takes connections"

    def queries(self) -> tuple[Query, ...]:
        return (self._query,)

    @property
    def alive_only(self) -> bool:
        return True

    def evaluate(self, facts: Facts) -> Verdict:
        told = mapping(facts[self._query])
        if told is None:
            return unanswered(self.describe(), facts[self._query], expected="a connection")
        if told["open"]:
            return held(self.describe(), observed=f"a connection to {told['address']}")
        return not_held(self.describe(), expected="a connection", observed=str(told["failure"]))

    @property
    def _query(self) -> Query:
        return Query("port", {"host": self.host, "port": self.port, "timeout_s": TIMEOUT_S})


KIND = Port
