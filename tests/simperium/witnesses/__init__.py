"""Clients that this project did not write, as programs: `python -m … URL EMAIL PASSWORD`.

Each works on a Simperium server, asserts what its library promises and prints JSON.
"""
