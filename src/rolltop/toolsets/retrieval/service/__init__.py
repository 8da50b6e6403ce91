"""The retrieval tools: exact and ranked search, file contents, directory listings."""
