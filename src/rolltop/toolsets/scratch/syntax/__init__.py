"""Validation of cells: real parsers for every language, JSON Schema, limits that hold."""
