"""The sync with a backend: pull, merge, push, and writes that reach the backend first."""
