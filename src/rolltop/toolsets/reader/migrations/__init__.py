"""The reader's part of the schema."""

HEAD = "reader_0001"
