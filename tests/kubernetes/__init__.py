"""kubectl against a stand-in of an API server."""
