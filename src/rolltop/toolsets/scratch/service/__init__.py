"""What may happen to scratchpads, their cells, schemas and namespaces."""
