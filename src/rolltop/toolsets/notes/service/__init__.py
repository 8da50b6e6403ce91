"""What may happen to notes; each module is one part of it."""
