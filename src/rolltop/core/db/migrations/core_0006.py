"""What 0.1.0 left. Nothing is older, and no store is made so: its branch begins with a script."""

from __future__ import annotations

revision = "core_0006"
down_revision = None
branch_labels = ("core",)
depends_on = None
