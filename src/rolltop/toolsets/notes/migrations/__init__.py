"""The schema of notes, revision by revision."""

HEAD = "notes_0003"
