"""What a library that is not ours says of the product's answers."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from jsonschema.validators import validator_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jsonschema.protocols import Validator


def validate(value: Any, schema: Mapping[str, Any]) -> None:
    """Raise jsonschema's ValidationError unless the value fits, SchemaError if the schema is none.

    Each schema is judged once: that takes a hundred times as long as judging an answer.
    """
    _validator(json.dumps(schema)).validate(value)


@cache
def _validator(schema: str) -> Validator:
    judged = json.loads(schema)
    kind = validator_for(judged)
    kind.check_schema(judged)
    return kind(judged)
