"""The schema of the desk, revision by revision."""

HEAD = "desk_0001"
