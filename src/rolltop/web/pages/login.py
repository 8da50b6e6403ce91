"""Logging in and out."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from rolltop.core.errors import InvalidArgument, RateLimited
from rolltop.web.visit import PageRoute, Visit


async def show_login(visit: Visit, message: str = "", status: int = 401) -> Response:
    """Show how to log in, and nothing else; to a link of another site, where it leads once more."""
    if visit.is_from_elsewhere and visit.request.method == "GET":
        return visit.render("welcome", is_elsewhere=True)
    return visit.render(
        "login",
        status,
        takes_links=await visit.sessions.takes_links(),
        origin=f"{visit.request.url.scheme}://{visit.request.url.netloc}",
        message=message,
        typed=await visit.find_typed_texts(),
    )


async def follow_link(visit: Visit) -> Response:
    """Log in by a link, once."""
    # Who asks for headers alone looks at the link, and must not use it up.
    link = visit.argument("link") if visit.request.method == "GET" else ""
    if not link:
        return visit.redirect("/") if visit.is_logged_in else await show_login(visit)
    session = await visit.sessions.use_link(link, visit.address)
    if session is None and visit.is_logged_in:  # by this link before, as it may be
        return visit.redirect("/")
    if session is None:
        return await show_login(visit, "The link is used, older than 10 minutes or not of here.")
    visit.begin_session(session)
    # A redirect of a link in another page would not carry a cookie that is SameSite=Strict.
    return visit.render("welcome")


async def send_token(visit: Visit) -> Response:
    """Log in by a bearer token."""
    token = visit.form.get("token", "").strip()
    try:
        session = await visit.sessions.use_token(token, visit.address)
    except RateLimited as failure:
        response = await show_login(visit, f"{failure.message}. {failure.hint}", 429)
        response.headers["retry-after"] = str(failure.retry_after)
        return response
    except InvalidArgument as failure:
        return await show_login(visit, f"{failure.message}. {failure.hint}.")
    if session is None:
        return await show_login(visit, "The token is unknown, expired or revoked.")
    visit.begin_session(session)
    return visit.redirect("/")


async def log_out(visit: Visit) -> Response:
    """End the session."""
    if visit.is_logged_in:
        await visit.end_session()
    return visit.redirect("/login")


ROUTES: Final[tuple[PageRoute, ...]] = (
    ("/login", "GET", follow_link),
    ("/login", "POST", send_token),
    ("/logout", "POST", log_out),
)
