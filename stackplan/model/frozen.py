"""Dataclasses at the price of plain ones: most of what a short command costs is to make some 150 classes.

A class of the standard library's compiles six methods when it is made, and a frozen one sets each field by a call of
its own whenever one of it is made: of a large playbook there are a hundred thousand. Here `__init__` alone is compiled,
and the fields of a frozen one are guarded by mypy, not at run time.
"""

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - handed on, so that mypy knows it
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> type | Callable[[type], type]:
        """As `dataclasses.dataclass`, but that nothing stands guard over the fields of one that is `frozen`."""
        return _made(cls, **options) if cls is not None else lambda plain: _made(plain, **options)


def _made(
    plain: type,
    *,
    frozen: bool = False,
    unsafe_hash: bool = False,
    eq: bool = True,
    order: bool = False,
    **options: bool,
) -> Any:
    own = vars(plain)
    # Python itself puts None there, where a class has an `__eq__` of its own.
    explicit = "__hash__" in own and not (own["__hash__"] is None and "__eq__" in own)
    hashed = unsafe_hash or (frozen and eq and not explicit)
    if order or not eq:
        return dataclasses.dataclass(plain, eq=eq, order=order, unsafe_hash=hashed, **options)
    shown = options.pop("repr", True)
    made: Any = dataclasses.dataclass(plain, eq=False, repr=False, **options)
    fields = dataclasses.fields(made)
    seen = _values([it.name for it in fields if it.compare])
    if shown and "__repr__" not in own:
        made.__repr__ = _shown([it.name for it in fields if it.repr])
    if "__eq__" not in own:
        made.__eq__ = _equal(seen)
    if hashed:
        counted = _values([it.name for it in fields if (it.compare if it.hash is None else it.hash)])
        made.__hash__ = lambda self: hash(counted(self))
    elif not explicit:
        made.__hash__ = None
    return made


def _values(names: list[str]) -> Callable[[Any], Any]:
    """Return what takes the tuple of these fields of an object; the field itself would lack a tuple's `is`."""
    if len(names) > 1:
        return attrgetter(*names)
    return (lambda it: (getattr(it, names[0]),)) if names else lambda _it: ()


def _equal(seen: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    def __eq__(self: Any, other: Any) -> Any:  # noqa: N807 - it becomes that method
        return seen(self) == seen(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _shown(names: list[str]) -> Callable[[Any], str]:
    def __repr__(self: Any) -> str:  # noqa: N807 - it becomes that method
        told = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({told})"

    return __repr__
