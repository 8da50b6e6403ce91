"""Names that callers use for parameters, fields and tools: other common ones, and the nearest."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

PARAMETER_SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "limit": (
        *("max_results", "top_k", "page_size", "count", "n", "num_results"),
        *("lim", "head_limit", "k"),
    ),
    "path": (
        *("file", "file_path", "filename", "filepath", "target_file", "absolute_path"),
        *("directory", "dir_path", "dir", "folder"),
    ),
    "file_path": ("path", "file", "filename", "filepath", "target_file", "absolute_path"),
    "file_paths": ("paths", "files", "path", "file_path", "file", "filename", "filepath"),
    "query": ("q", "search", "search_query", "question"),
    "q": ("query", "search", "search_query", "question"),
    "id": ("note_id",),
    "text_patch": ("patch", "edits"),
    "edits": ("patch", "changes", "replacements", "edit"),
    "text": ("content", "body", "txt"),
    "cursor": ("next_cursor", "page_token"),
    "max_tokens": ("token_limit", "max_result_tokens"),
    "budget_tokens": ("token_budget", "budget"),
    "max_level": ("depth", "max_depth", "level"),
    "section_heading": ("section", "heading", "section_id", "id"),
    "task_id": ("id", "task"),
    "title": ("name", "summary", "subject", "task", "task_title"),
    "description": ("details",),
    "due_at": ("due", "due_date", "deadline"),
    "tags": ("labels", "tag", "label"),
    "tag": ("label", "tags"),
    "links": ("link",),
    "kinds": ("kind", "types", "type"),
    "uri": ("address", "url", "id"),
    "operation": ("operation_id", "op_id", "id"),
    "from": ("source", "from_uri"),
    "to": ("target", "to_uri"),
    "relation": ("relation_type", "type", "kind"),
    "since": ("after",),
    "sort": ("order_by", "sort_by"),
    "order": ("sort", "order_by", "sort_by"),
    "acceptance": ("acceptance_criteria", "criteria"),
    "assignee": ("assigned_to", "assign_to", "owner"),
    "token": ("claim_token", "lease_token"),
    "blocked_by": ("depends_on", "dependencies"),
    "parent_id": ("parent", "parent_task_id"),
    "if_version": ("version", "expected_version"),
    "local_version": ("l_ver", "version"),
    "scratch_id": ("scratchpad_id", "pad_id", "id"),
    "cell_id": ("id",),
    "cell_ids": ("cell_id",),
    "cells": ("cell",),
    "indices": ("index", "indexes"),
    "schema_id": ("id",),
    "start_line": ("line_start", "from_line", "start"),
    "end_line": ("line_end", "to_line", "end"),
    "line_start": ("start_line", "from_line", "offset"),
    "range_line_start": ("start_line", "line_start", "from_line"),
    "range_line_count": ("line_count",),
    "regex": ("is_regex", "use_regex"),
    "file_glob": ("glob", "include", "file_pattern", "path"),
    "repo": ("repository", "root"),
    "context": ("context_lines",),
    "depth": ("max_depth",),
    "namespace": ("ns",),
    "namespaces": ("namespace", "ns"),
    "status": ("state",),
    "action": ("act",),
    "dt_before": ("date_before", "before"),
    "dt_after": ("date_after", "after"),
}
"""Other names of a parameter, from other servers and from our predecessors' code.

They are accepted, and never listed. So is a parameter's own name in camelCase or with hyphens.
"""
FIELD_SYNONYMS: Mapping[str, tuple[str, ...]] = {
    **PARAMETER_SYNONYMS,
    "old": ("old_string", "old_str", "old_text", "find", "search"),
    "new": ("new_string", "new_str", "new_text", "replace", "replacement"),
    "all": ("replace_all",),
    "line_start": ("start_line", "line"),
    "line_end": ("end_line",),
    "language": ("lang",),
    "content": ("text", "body", "code", "source"),
    "json_schema": ("schema",),
    "op": ("operation",),
    "ln": ("line_number", "line"),
    "val": ("value", "text", "content"),
}
"""Other names of a field of an object, accepted like those of parameters."""

_MAX_NAME_CHARACTERS = 60
"""Of a name that is compared: a longer one is none of ours."""
_CHARACTERS_PER_EDIT = 5
"""Characters of a name for each one that may be wrong: more make another word."""
_MIN_PREFIX_LENGTH = 3
"""Characters of a name that may be the beginning of another."""
_WORD = re.compile(r"[A-Z]?[^\W_A-Z]+|[A-Z]+")
_FILLERS = frozenset({"by", "is", "use"})
_GENERIC_WORDS = frozenset({"count", "end", "id", "include", "max", "min", "new", "start"})
"""Words that names of quite different things have."""
_ALL_SYNONYMS = frozenset(PARAMETER_SYNONYMS).union(*PARAMETER_SYNONYMS.values())
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_SUBJECTS = tuple(
    frozenset(words.split())
    for words in (
        "task todo",
        "note memo memory",
        "scratch pad scratchpad notebook",
        "cell block",
        "file document doc",
        "section heading outline chapter",
        "directory dir folder",
        "token",
        "code repo repository codebase",
        "schema",
        "namespace",
    )
)
_ACTIONS = tuple(
    frozenset(words.split())
    for words in (
        "add create new make insert append save write store put",
        "delete remove drop destroy",
        "complete finish done close",
        "update edit modify change set",
        "restore undelete recover",
        "read get open view show fetch load list search find query lookup",
    )
)
_SAME_MEANING = {word: words for words in (*_SUBJECTS, *_ACTIONS) for word in words}
_SUBJECT_SCORE = 4
"""More than any two actions that are alike: a tool about something else is not meant."""
_MAX_TOOLS = 3


def canonical_names(
    name: str, known: Iterable[str], synonyms: Mapping[str, tuple[str, ...]]
) -> list[str]:
    """Return the known names that a caller may mean by another common one, best first."""
    folded = _snake_case(name)
    own = [one for one in known if one == folded]
    return own or [one for one, others in synonyms.items() if one in known and folded in others]


def _snake_case(name: str) -> str:
    """Return `fooBar` and `foo-bar` as `foo_bar`."""
    return _CAMEL.sub("_", name[: _MAX_NAME_CHARACTERS + 1]).replace("-", "_").lower()


def suggest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that a slip or two of the keys make into the one given, if any.

    Another word, however like it, is never one: a wrong guess costs more than none.
    """
    given = _fold_name(name[:_MAX_NAME_CHARACTERS])
    found = min(((_edit_distance(given, _fold_name(own)), own) for own in known), default=(0, None))
    is_slip = found[0] <= max(1, len(given) // _CHARACTERS_PER_EDIT) and found[0] < max(
        1, len(given)
    )
    return found[1] if is_slip else None


def suggest_field(name: str, known: Iterable[str]) -> str | None:
    """Return the known field that is meant: by a slip, by its beginning, or by words of its name.

    So `desc` is description, `style` summary_style and `order_by` order, each where it can be of
    one field alone.
    """
    fields = list(known)
    asked = _significant_words(name[:_MAX_NAME_CHARACTERS])
    singular = frozenset(
        word.removesuffix("s") if len(word) > _MIN_PREFIX_LENGTH else word for word in asked
    )
    ways: tuple[Callable[[str], bool], ...] = (
        lambda own: _is_abbreviation(name, own),
        lambda own: asked <= _significant_words(own),
        lambda own: singular <= _significant_words(own),
    )
    close = suggest_name(name, fields)
    for fits in ways if not close and asked - _GENERIC_WORDS else ():
        found = [own for own in fields if fits(own)]
        if found:
            return found[0] if len(found) == 1 else None
    return close


def suggest_tools(name: str, known: Mapping[str, str], hints: Mapping[str, str]) -> list[str]:
    """Return the tools that do what another server's tool of that name would do, at most three.

    `known` are the tools' names with their titles, `hints` other words to find them by. A name says
    what a tool is about, and mostly what it does with that; or it has a word of one hint alone.
    """
    asked = _tool_words(name[:_MAX_NAME_CHARACTERS])
    scores = {tool: _shared_words(asked, _tool_words(f"{tool}_{known[tool]}")) for tool in known}
    uses = Counter(word for hint in hints.values() for word in _tool_words(hint))
    telling = {word for word in asked if uses[word] == 1 and word not in _SAME_MEANING}
    for tool, hint in hints.items():
        scores[tool] += 2 * _SUBJECT_SCORE * len(telling & _tool_words(hint).keys())
    best = max(scores.values(), default=0)
    found = [tool for tool, score in scores.items() if score == best]
    return found if best > _SUBJECT_SCORE and len(found) <= _MAX_TOOLS else []


def _tool_words(text: str) -> dict[str, frozenset[str]]:
    """Return the words of a tool's name, singular, each with the words that mean the same."""
    words = {word.lower() for word in _WORD.findall(text)}
    singular = {
        word.removesuffix("s") if len(word) > _MIN_PREFIX_LENGTH else word for word in words
    }
    return {word: _SAME_MEANING.get(word, frozenset({word})) for word in singular}


def _shared_words(asked: Mapping[str, frozenset[str]], own: Mapping[str, frozenset[str]]) -> int:
    """Return how much of what was asked for a tool's own words say."""
    score = 0
    for word, meaning in asked.items():
        if not meaning.isdisjoint(own):
            score += _SUBJECT_SCORE if meaning in _SUBJECTS else 2 if word in own else 1
    return score


def _is_abbreviation(name: str, own: str) -> bool:
    """Return whether a name is the beginning of another, and no name for something else."""
    return (
        len(name) >= _MIN_PREFIX_LENGTH
        and name not in _ALL_SYNONYMS
        and own.startswith(name.lower())
    )


def _significant_words(name: str) -> frozenset[str]:
    """Return the words of a name, `foo_bar` or `fooBar`, that tell it from others."""
    return frozenset(word.lower() for word in _WORD.findall(name)) - _FILLERS


def _fold_name(name: str) -> str:
    """Return a name as words are told apart by nothing: `fooBar` and `foo-bar` are one."""
    return name.lower().replace("_", "").replace("-", "")


def _edit_distance(one: str, other: str) -> int:
    """Return how many letters are missing, too many, wrong or changed places.

    The optimal string alignment distance: Boytsov, Indexing methods for approximate dictionary
    searching (2011), 2.2.
    """
    above, row = list[int](), list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        before, above, row = above, row, [at]
        for to, opposite in enumerate(other, 1):
            least = min(above[to] + 1, row[-1] + 1, above[to - 1] + (letter != opposite))
            if at > 1 and to > 1 and letter == other[to - 2] and one[at - 2] == opposite:
                least = min(least, before[to - 2] + 1)
            row.append(least)
    return row[-1]
