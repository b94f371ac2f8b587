"""What is ended once, after all tests."""

from tests import command_line


def pytest_sessionfinish():
    command_line.end()
