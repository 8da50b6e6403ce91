"""The page for people: what agents did, to see, correct and take back.

Templates and their pages have the same names. A page calls tools through `core.dispatch`, as every
client does, so what it may see and change is what its person's agents may.
"""
