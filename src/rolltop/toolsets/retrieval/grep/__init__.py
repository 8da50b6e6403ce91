"""Exact search: the lines that ripgrep matches, in a fixed order, read from the files."""
