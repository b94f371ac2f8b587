"""RECORD as installers write it."""

from stackplan.node.record import recorded_rows


def test_compiled_files_and_their_folders_are_left_out():
    """virtualenv lists the folders, too, for the pip that it puts into an environment."""
    text = "pip/a.py,sha256=a,1\npip/__pycache__,,\npip/__pycache__/a.cpython-311.pyc,,\npip/_vendor/__pycache__,,\n"
    assert list(recorded_rows(text)) == [("pip/a.py", "sha256=a", "1")]
