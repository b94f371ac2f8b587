"""Groups within groups: circles of them, and how far each is from a node. Imports nothing of ours."""

from collections.abc import Iterable, Mapping


def circle(children: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the groups of one circle, the first one again at the end, or nothing; `children` are by group."""
    done: set[str] = set()
    for start in children:
        path = [start]
        waiting = [iter(list(children[start]))]
        while waiting:
            child = next((it for it in waiting[-1] if it in children and it not in done), None)
            if child is None:
                done.add(path.pop())
                waiting.pop()
            elif child in path:
                return [*path[path.index(child) :], child]
            else:
                path.append(child)
                waiting.append(iter(list(children[child])))
    return []


def distances(holding: Iterable[str], children: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """Return how far each group is from a node: 0 for those `holding` it, 1 for those around them, …"""
    found = dict.fromkeys(holding, 0)
    edge = set(found)
    distance = 0
    while edge:
        distance += 1
        edge = {group for group, inner in children.items() if group not in found and edge.intersection(inner)}
        found |= dict.fromkeys(edge, distance)
    return found
