"""One file a format: a report in, text out; pure, with width and colour as arguments."""
