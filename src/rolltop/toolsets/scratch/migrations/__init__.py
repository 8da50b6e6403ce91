"""The schema of scratch, revision by revision."""

HEAD = "scratch_0004"
