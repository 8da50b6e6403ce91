"""Fixtures every test may use."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.databases", "tests.time_budgets"]

# How fast a shared machine draws examples says nothing about the product.
settings.register_profile(
    "rolltop", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("rolltop")
