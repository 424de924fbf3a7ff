"""Properties that are worked out once for each instance, under no lock that instances share."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property(functools.cached_property):
        """As Python 3.12 has it.

        That of 3.11 works out a property of one instance at a time, under a lock of the class: two threads that each
        ask for the other's property wait for ever, and so does a process that is forked while a thread holds the lock.
        """

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return self
            known = instance.__dict__
            value = known.get(self.attrname, self)
            if value is self:
                value = known[self.attrname] = self.func(instance)
            return value
