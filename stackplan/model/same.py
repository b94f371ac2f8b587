"""An object as a key: the very same one, for what is too large to be hashed and compared. Imports nothing of ours."""

from typing import Generic, TypeVar

from stackplan.model.frozen import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Same(Generic[T]):
    """Equal to another one when both hold the very same object.

    As the key of a cache it keeps the object, so that no other one can come to bear its identity meanwhile.
    """

    it: T

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.it is self.it

    def __hash__(self) -> int:
        return id(self.it)
