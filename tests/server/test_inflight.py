"""Requests in flight over stdio: how many calls are let in while others end, or none does."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mcp_types import JSONRPCRequest

from rolltop.server.inflight import InFlightRequests

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def with_calls(conversation: Callable[[InFlightRequests], Awaitable[None]]) -> None:
    async def meet() -> None:
        in_flight = InFlightRequests(threads=16)
        for number in range(64):
            call = JSONRPCRequest(jsonrpc="2.0", id=number, method="tools/call")
            in_flight.add(call)
        await conversation(in_flight)

    asyncio.run(meet())


def test_a_call_waits_while_many_are_in_flight_until_one_ends() -> None:
    async def converse(in_flight: InFlightRequests) -> None:
        ended: list[int] = []

        def end_one() -> bool:
            ended.append(len(ended))
            assert in_flight.remove(ended[-1])
            return False

        in_flight.wait_for_room(end_one)
        assert ended == [0]
        in_flight.wait_for_room(end_one)
        assert ended == [0]
        assert not in_flight.remove(0)

    with_calls(converse)


def test_where_none_ends_as_many_more_are_let_in_and_all_once_the_client_is_gone() -> None:
    async def converse(in_flight: InFlightRequests) -> None:
        asked: list[int] = []
        for number in range(64, 300):

            def has_ended(number: int = number) -> bool:
                asked.append(number)
                return number >= 128

            in_flight.wait_for_room(has_ended)
            in_flight.add(JSONRPCRequest(jsonrpc="2.0", id=number, method="tools/call"))
        assert asked == [64, 128]
        assert len(in_flight.take_unanswered()) == 300
        await in_flight.wait_idle()

    with_calls(converse)
