"""Whether two conditions state the same of a node, wherever they stand and whatever they call an environment. Pure."""

from dataclasses import replace

from stackplan.engine.bind import BoundCondition
from stackplan.engine.guard import guarded
from stackplan.model.environment_place import NAMED_BY, real_place
from stackplan.model.facts import Facts, Query
from stackplan.model.kind import ConditionKind


def same_statement(one: BoundCondition, other: BoundCondition, facts: Facts) -> bool:
    """Return whether what holds of `one` holds of `other`, where the node looks as `facts` tell."""
    if (one.user, one.condition.combination) != (other.user, other.condition.combination):
        return False
    if one.kind != other.kind and not _of_one_environment(one, other, facts):
        return False
    pairs = zip(one.operands, other.operands, strict=False)
    return len(one.operands) == len(other.operands) and all(same_statement(mine, its, facts) for mine, its in pairs)


def _of_one_environment(one: BoundCondition, other: BoundCondition, facts: Facts) -> bool:
    """Return whether two conditions differ in the name of one environment and in nothing else."""
    if type(one.kind) is not type(other.kind) or len(one.queries) != len(other.queries):
        return False
    pairs = tuple(zip(one.queries, other.queries, strict=True))
    return all(_same_question(mine, its, facts) for mine, its in pairs) and _renamed(one, other) == other.kind


def _same_question(one: Query, other: Query, facts: Facts) -> bool:
    if one == other:
        return True
    if (one.kind, one.user) != (other.kind, other.user):
        return False
    place = real_place(facts, one)
    return place is not None and place == real_place(facts, other)


def _renamed(one: BoundCondition, other: BoundCondition) -> ConditionKind | None:
    """Return what `one` states, of the environment by the name that `other` has for it."""
    mine, its = one.condition.arguments, other.condition.arguments
    kept = {key: value for key, value in mine.values.items() if key not in NAMED_BY}
    named = {key: its.values[key] for key in NAMED_BY if key in its.values}
    kind = one.kind
    if kind is None:
        return None
    return guarded(lambda: type(kind).read(replace(mine, values={**kept, **named})), lambda _: None)
