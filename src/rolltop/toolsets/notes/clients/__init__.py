"""The backends that notes can be synced with: `backend` is the interface, `simperium` the only one.

Importing this package or its `settings` loads no HTTP library.
"""
