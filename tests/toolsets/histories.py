"""Random histories of calls, compared with what a model of them does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from rolltop.core.errors import RolltopError


class Refused(Exception):
    """A call that must fail with this code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def outcome(call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Return what a call answers, or the code of its refusal."""
    try:
        return call(*arguments, **named)
    except (RolltopError, Refused) as refusal:
        return refusal.code


def run_histories(
    machine: type[RuleBasedStateMachine], runs: int, steps: int = 40, **fields: Any
) -> None:
    """Run histories of a machine that has these fields."""
    run_state_machine_as_test(
        type("Bound", (machine,), fields),
        settings=settings(
            max_examples=runs,
            stateful_step_count=steps,
            suppress_health_check=[
                HealthCheck.too_slow,
                HealthCheck.filter_too_much,
                HealthCheck.data_too_large,
            ],
        ),
    )
