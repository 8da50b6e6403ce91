"""Documents: their sections, and the text of formats that are not text."""
