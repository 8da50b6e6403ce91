"""The journal: what was changed, by whom, and what it was before."""
