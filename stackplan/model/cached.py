"""`functools.cached_property` without the lock that it takes before Python 3.12, which costs more than most of ours."""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property  # noqa: PLC0414 - handed on
else:

    class cached_property:  # noqa: N801 - it stands in for that name
        """A property that is worked out once for each object, by whoever asks first, and then stands in its fields."""

        def __init__(self, function: Any) -> None:
            self._function = function
            self._name = function.__name__
            self.__doc__ = function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self._name] = self._function(instance)
            return value
