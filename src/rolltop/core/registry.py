"""Which tools this process offers, under which names, to whom."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rolltop.core.arguments import Parameters, nearest, shown
from rolltop.core.errors import ConfigInvalid
from rolltop.core.scope import WRITE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rolltop.core.scope import Scope
    from rolltop.core.toolset import Tool, Toolset


class UnknownTool(LookupError):
    """No tool of that name is offered; `nearest` is the closest one that is, if any.

    `exists` says that there is such a tool, which the settings or the caller's rights leave out.
    """

    def __init__(self, name: str, close: str | None, *, exists: bool = False) -> None:
        """Keep the name as given and its nearest known name."""
        super().__init__(name)
        self.name = name
        self.nearest = close
        self.exists = exists

    @property
    def message(self) -> str:
        """What to tell the caller."""
        if self.exists:
            return f"Tool {shown(self.name)} is not offered here: tools/list has those that are"
        guess = f"; did you mean {self.nearest}?" if self.nearest else ""
        return f"Unknown tool {shown(self.name)}{guess}"


@dataclass(frozen=True)
class Offer:
    """A tool under one of its names."""

    name: str
    tool: Tool
    toolset: Toolset
    parameters: Parameters
    title: str
    description: str
    fixed: Mapping[str, object] = field(default_factory=dict[str, object])
    actions: Sequence[str] | None = None
    """What it is offered for, where that is less than all the tool does."""

    @property
    def reads(self) -> bool:
        """Whether the tool, with what it is offered for, changes nothing."""
        if self.tool.reads or self.parameters.only_reading:
            return True
        reading = self.tool.actions.reading if self.tool.actions else ()
        return self.actions is not None and set(self.actions) <= set(reading)


@dataclass(frozen=True)
class Selection:
    """What narrows the list of tools; None is no narrowing. `read_only` wins over all."""

    toolsets: Sequence[str] | None = None
    tools: Sequence[str] | None = None
    exclude: Sequence[str] = ()
    read_only: bool = False
    seed_names: bool = False


class Registry:
    """The tools of the selected toolsets by name. It never changes after it is made."""

    def __init__(self, toolsets: Sequence[Toolset], selection: Selection | None = None) -> None:
        """Build the offers for callers who may write and for those who may not.

        Raises:
            ConfigInvalid: the selection names a toolset or tool that does not exist.

        """
        self._selection = _canonical(toolsets, selection or Selection())
        _check_names("toolsets", self._selection.toolsets, [t.name for t in toolsets])
        tools = [tool for toolset in toolsets for tool in toolset.tools]
        names = [*(tool.name for tool in tools), *(name for t in tools for name in _by_action(t))]
        _check_names("tools", self._selection.tools, names)
        _check_names("exclude_tools", self._selection.exclude, names)
        chosen = self._selection.toolsets
        self._existing = {
            name
            for toolset in toolsets
            for tool in toolset.tools
            for name in (tool.name, *(seed.name for seed in tool.seeds))
        }
        self.toolsets = tuple(t for t in toolsets if chosen is None or t.name in chosen)
        self._reading = self._offers(only_reading=True)
        self._all = self._reading if self._selection.read_only else self._offers(only_reading=False)
        self._renamed = _renamed(self._all.values()) if self._selection.seed_names else {}
        longest_first = sorted(self._renamed, key=len, reverse=True)
        names = "|".join(longest_first)
        # Not in paths and addresses, which are the user's.
        self._named = re.compile(rf"(?<![\w./\"'-])({names})(?![\w/\"'-]|\.\w)")

    def listed(self, scope: Scope) -> tuple[Offer, ...]:
        """Return the tools to list for this caller, one name each, in declared order."""
        offers = self._for(scope).values()
        if not self._selection.seed_names:
            return tuple(offer for offer in offers if offer.name == offer.tool.name)
        return tuple(o for o in offers if not o.tool.seeds or o.name != o.tool.name)

    def as_listed(self, text: str) -> str:
        """Return a text of ours, such as a hint, with its tools called by their listed names."""
        if not self._renamed:
            return text
        return self._named.sub(lambda found: self._renamed[found[0]], text)

    @property
    def offered(self) -> tuple[Offer, ...]:
        """Every tool under every name, as callers who may write get it."""
        return tuple(self._all.values())

    def offers(self, names: Iterable[str]) -> bool:
        """Return whether every tool of these names is offered to callers who may write."""
        return all(name in self._all for name in names)

    def find(self, name: str, scope: Scope) -> Offer:
        """Return the tool of that canonical or seed name.

        Raises:
            UnknownTool: it is not offered to this caller.

        """
        offers = self._for(scope)
        if name in offers:
            return offers[name]
        close = nearest(name, offers)
        tool = offers[close].tool if close else None
        names = [offer.name for offer in self.listed(scope) if offer.tool is tool]
        if close not in names:
            close = names[0] if names else None
        raise UnknownTool(name, close, exists=name in self._existing)

    def _for(self, scope: Scope) -> dict[str, Offer]:
        return self._all if WRITE in scope.rights else self._reading

    def _offers(self, *, only_reading: bool) -> dict[str, Offer]:
        offers: dict[str, Offer] = {}
        for toolset in self.toolsets:
            for tool in toolset.tools:
                if self._selected(tool) and (tool.reads or tool.actions or not only_reading):
                    actions = self._actions(tool, only_reading=only_reading)
                    for offer in _names(toolset, tool, actions, only_reading=only_reading):
                        offers[offer.name] = offer
        return offers

    def _selected(self, tool: Tool) -> bool:
        selection = self._selection
        names = {tool.name, *_by_action(tool)}
        wanted = selection.tools is None or not names.isdisjoint(selection.tools)
        return wanted and tool.name not in selection.exclude

    def _actions(self, tool: Tool, *, only_reading: bool) -> list[str] | None:
        """Return the actions that are left where names of single ones were given, else None."""
        selection, named = self._selection, _by_action(tool)
        chosen, excluded = selection.tools or (), selection.exclude
        if tool.actions is None or named.keys().isdisjoint([*chosen, *excluded]):
            return None
        whole = selection.tools is None or tool.name in chosen
        wanted = {action for name, action in named.items() if name in chosen}
        dropped = {action for name, action in named.items() if name in excluded}
        parameter = Parameters(tool, code="").schema["properties"][tool.actions.parameter]
        return [
            action
            for action in parameter["enum"]
            if (whole or action in wanted)
            and action not in dropped
            and (not only_reading or action in tool.actions.reading)
        ]


def _by_action(tool: Tool) -> dict[str, str]:
    """Return the names a tool has for its actions, with these."""
    parameter = tool.actions.parameter if tool.actions else ""
    return {seed.name: str(seed.fixed[parameter]) for seed in tool.seeds if parameter in seed.fixed}


def _names(
    toolset: Toolset, tool: Tool, actions: Sequence[str] | None, *, only_reading: bool
) -> Iterable[Offer]:
    """Return a tool under its canonical name and its seed names; `actions` None are all."""
    if actions == []:
        return
    code = toolset.argument_code
    parameters = Parameters(tool, code=code, only_reading=only_reading, actions=actions)
    yield Offer(tool.name, tool, toolset, parameters, tool.title, tool.description, actions=actions)
    named = _by_action(tool)
    for seed in tool.seeds:
        if seed.name in named and not parameters.offers(named[seed.name]):
            continue
        title, description = seed.title or tool.title, seed.description or tool.description
        fewer = Parameters(
            tool, code=code, only_reading=only_reading, fixed=seed.fixed, name=seed.name
        )
        done = [named[seed.name]] if seed.name in named else None
        yield Offer(seed.name, tool, toolset, fewer, title, description, seed.fixed, done)


def _canonical(toolsets: Sequence[Toolset], selection: Selection) -> Selection:
    """Return the selection with canonical names for seed names that stand for a whole tool."""
    tools = [tool for toolset in toolsets for tool in toolset.tools if len(tool.seeds) == 1]
    known = {tool.seeds[0].name: tool.name for tool in tools}
    wanted = selection.tools and [known.get(name, name) for name in selection.tools]
    exclude = [known.get(name, name) for name in selection.exclude]
    return replace(selection, tools=wanted, exclude=exclude)


def _renamed(offers: Iterable[Offer]) -> dict[str, str]:
    """Return the seed names by what hints call them: a tool, or a tool `with` an action."""
    names: dict[str, str] = {}
    for offer in offers:
        if offer.name != offer.tool.name:
            fixed = offer.fixed.items() if len(offer.tool.seeds) > 1 else ()
            said = "".join(f" with {key} {value}" for key, value in fixed)
            names[offer.tool.name + said] = offer.name
    return names


def _check_names(key: str, given: Sequence[str] | None, known: Sequence[str]) -> None:
    for name in given or ():
        if name not in known:
            close = nearest(name, known)
            guess = f"; did you mean {close}?" if close else ""
            raise ConfigInvalid(
                f"{key}: unknown name {shown(name)}{guess}",
                hint=f"Allowed: {', '.join(known)}.",
            )
