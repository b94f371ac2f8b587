"""Comments of a YAML text: what stands between its values, and nothing that stands in one."""

from stackplan.language.tree import comments

TEXT = """\
# top
a: b # beside
c: |  # at the head of a block
  x # no
  # no
# behind the block
d: "x # no" # behind quotes
  # indented
e: [1, # in a list
  2]
f: x#no
g: >-
  text

# last"""


def test_each_comment_has_its_place_and_knows_whether_it_stands_alone():
    found = comments(TEXT.split("\n"), "p.yaml")
    assert [(it.at.line, it.text, it.alone) for it in found] == [
        (1, "top", True),
        (2, "beside", False),
        (3, "at the head of a block", False),
        (6, "behind the block", True),
        (7, "behind quotes", False),
        (8, "indented", True),
        (9, "in a list", False),
        (15, "last", True),
    ]
    for it in found:
        assert TEXT.split("\n")[it.at.line - 1][it.at.column - 1] == "#"


def test_columns_count_characters_also_outside_of_ascii():
    (found,) = comments(["é🚀: ü # x"], "p.yaml")
    assert found.at.column == 7
