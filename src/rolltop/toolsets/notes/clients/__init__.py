"""The backends that notes may be kept in step with: one small interface, Simplenote behind it.

`backend` is the interface, `simperium` the one backend there is. Importing this package or its
`settings` loads no HTTP library.
"""
