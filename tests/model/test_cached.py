"""The cached property works a value out once for each object, and keeps it where it can be given beforehand."""

from stackplan.model.cached import cached_property


class Counting:
    def __init__(self):
        self.asked = 0

    @cached_property
    def value(self):
        """What it is about."""
        self.asked += 1
        return self.asked


def test_a_value_is_worked_out_once_for_each_object():
    one, other = Counting(), Counting()
    assert (one.value, one.value, other.value) == (1, 1, 1)
    assert (one.asked, other.asked) == (1, 1)


def test_what_stands_in_the_fields_is_not_worked_out():
    given = Counting()
    given.__dict__["value"] = "given"
    assert given.value == "given"
    assert given.asked == 0


def test_of_the_class_it_is_the_property_itself():
    assert Counting.value.__doc__ == "What it is about."
