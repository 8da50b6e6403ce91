"""Programs that measure Rolltop beside its peers, in one run, as ratios."""
