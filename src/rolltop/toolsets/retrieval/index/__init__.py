"""Indexes of trigrams, chunks and vectors: they propose candidates for searches."""
