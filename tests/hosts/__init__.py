"""Hosts' own programs, as far as they run without an account and without a network."""
