"""Addresses: `rolltop://…`, the one name of everything that is kept or read here.

    rolltop://note|pad|cell|task/<id>[@<version>][#L<a>-<b>]
    rolltop://file/<root>/<path>[@<first 12 of sha256>][#L<a>-<b>]
    rolltop://section/<root>/<path>[@<first 12 of sha256>]#<section id>[#L<a>-<b>]

One line may be `#L<a>`, as answers have it. Ids may be shortened to a unique beginning. All but
letters and digits of any script, `-._~` and the slashes of paths is percent-encoded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, Literal
from urllib.parse import quote, unquote

from rolltop.core.arguments import value_preview
from rolltop.core.errors import InvalidArgument
from rolltop.core.pagination import AddressText, JsonObject, Page, TextPage, without_addresses

Kind = Literal["note", "pad", "cell", "task", "file", "section"]
RECORD_KINDS: Final = frozenset({"note", "pad", "cell", "task"})
SCHEME: Final = "rolltop://"
TEMPLATES: Final[dict[Kind, str]] = {
    "note": f"{SCHEME}note/{{id}}",
    "pad": f"{SCHEME}pad/{{id}}",
    "cell": f"{SCHEME}cell/{{id}}",
    "task": f"{SCHEME}task/{{id}}",
    "file": f"{SCHEME}file/{{root}}/{{+path}}{{#lines}}",
    "section": f"{SCHEME}section/{{root}}/{{+path}}{{#id}}",
}
"""The addresses that are resources too, as templates."""
SHORT_ID_LENGTH: Final = 8
"""Hexadecimal digits: of an id, the part that answers show."""
VERSION_LENGTH: Final = 12
"""Hexadecimal digits: of the SHA-256 of a file, the part that is its version."""
MAX_ADDRESS_LENGTH: Final = 8192
_DIGIT: Final = re.compile(r"[0-9a-f]", re.ASCII | re.IGNORECASE)
_ID_SHAPES: Final = ("0" * 32, "00000000-0000-0000-0000-000000000000")
_UUID: Final = re.compile(r"[0-9a-f]{8}(-?)[0-9a-f]{4}(\1[0-9a-f]{4}){3}[0-9a-f]{8}", re.ASCII)
_ODD: Final = re.compile(r"[^\w.~-]+")
_LINES: Final = re.compile(r"L?([0-9]{1,9})(?:-L?([0-9]{1,9}))?", re.ASCII)
_COUNT: Final = re.compile(r"[0-9]{1,9}", re.ASCII)
_HASH: Final = re.compile(rf"[0-9a-f]{{{VERSION_LENGTH}}}", re.ASCII)
_HINT: Final = (
    "An address is rolltop://note/<id>, pad, cell or task likewise, "
    "rolltop://file/<root>/<path>#L10-20 or rolltop://section/<root>/<path>#<section id>; "
    "answers show it as uri."
)


@dataclass(frozen=True)
class Address:
    """What an address says; `id` is empty for files and sections, and these fields for others."""

    kind: Kind
    id: str = ""
    root: str = ""
    path: str = ""
    section: str = ""
    version: str = ""
    lines: tuple[int, int] | None = None

    def __str__(self) -> str:
        """Print the address in the one form that is stored and compared."""
        return self._print("#L{}-{}".format(*self.lines) if self.lines else "")

    @property
    def text(self) -> AddressText:
        """The address as answers show it."""
        if self.lines and self.lines[0] == self.lines[1]:
            return AddressText(self._print(f"#L{self.lines[0]}"))
        return AddressText(self)

    def _print(self, lines: str) -> str:
        path = "/".join(map(_quote, self.path.split("/")))
        name = _quote(self.id) if self.id else f"{_quote(self.root)}/{path}"
        version = f"@{self.version}" if self.version else ""
        section = f"#{_quote(self.section)}" if self.section else ""
        return f"{SCHEME}{self.kind}/{name}{version}{section}{lines}"


def parse_address(text: str) -> Address:
    """Parse an address. Raises InvalidArgument for any other text."""
    given = text.strip()
    scheme, rest = given[: len(SCHEME)].lower(), given[len(SCHEME) :]
    if scheme != SCHEME or len(given) > MAX_ADDRESS_LENGTH:
        raise _no_address(text)
    kind, _, rest = rest.partition("/")
    kind = kind.lower()
    name, _, lines = rest.partition("#")
    section = ""
    if kind == "section":
        section, _, lines = lines.partition("#")
    is_record = kind in RECORD_KINDS
    name, version = _split_version(name, _COUNT if is_record else _HASH)
    root, slash, path = name.partition("/")
    root, path, section = _unquote(root), _unquote(path), _unquote(section)
    is_whole = not slash if is_record else bool(path)
    if (
        kind not in TEMPLATES
        or not (root and is_whole)
        or (kind == "section" and not section)
        or "\0" in f"{root}{path}{section}"
    ):
        raise _no_address(text)
    where = _parse_lines(lines, text)
    if is_record:
        return Address(kind, root, version=version, lines=where)
    return Address(kind, "", root, path, section, version, where)


def parse_file_address(text: str) -> Address | None:
    """Parse the address of a file or of a section of one; None for any other text."""
    if text.lstrip()[: len(SCHEME)].lower() != SCHEME:
        return None
    with suppress(InvalidArgument):
        address = parse_address(text)
        return None if address.kind in RECORD_KINDS else address
    return None


def record_address(kind: Kind, record_id: str) -> AddressText:
    """Print the address of a note, pad, cell or task as answers show it: of a UUID, the start."""
    return Address(kind, short_id(record_id)).text


def full_address(kind: Kind, record_id: str) -> str:
    """Print the address of a note, pad, cell or task with its whole id, as the resource's name."""
    return str(Address(kind, record_id))


def file_address(root: str, path: str, lines: tuple[int, int] | None = None) -> AddressText:
    """Print the address of a file, or of some lines of it."""
    return Address("file", root=root, path=path, lines=lines).text


def section_address(root: str, path: str, section_id: str) -> AddressText:
    """Print the address of a section of a file."""
    return Address("section", root=root, path=path, section=section_id).text


def is_address(text: str) -> bool:
    """Whether a text is an address."""
    try:
        parse_address(text)
    except InvalidArgument:
        return False
    return True


def is_id_start(text: str) -> bool:
    """Whether a text may stand for the ids that it begins: no other one is the beginning of any."""
    shape = _DIGIT.sub("0", text[: len(_ID_SHAPES[1]) + 1])
    return len(shape) >= SHORT_ID_LENGTH and any(one.startswith(shape) for one in _ID_SHAPES)


def is_about(text: str, thing: str) -> bool:
    """Whether a text is an address of a thing or of a place in it.

    The thing's own address has the whole id of a record, of which the text may have the beginning.
    """
    if text == thing:
        return True
    try:
        address = replace(parse_address(text), version="", lines=None)
    except InvalidArgument:
        return False
    may_be_start = address.kind in RECORD_KINDS and is_id_start(address.id)
    return str(address) == thing or (may_be_start and thing.startswith(str(address).lower()))


def shorten_address(uri: str) -> str:
    """Return the address of a record, printed with its whole id, as answers show it."""
    before, slash, record_id = uri.rpartition("/")
    return f"{before}{slash}{short_id(record_id)}"


def show_address(uri: str) -> str:
    """Return an address with a whole id, or one of the web, as answers show it."""
    if not uri.startswith(SCHEME):
        return uri
    address = parse_address(uri)
    return replace(address, id=short_id(address.id)).text


def short_id(record_id: str) -> str:
    """Return the part of an id that addresses show; all of one that is no UUID."""
    return record_id[:SHORT_ID_LENGTH] if _UUID.fullmatch(record_id) else record_id


def as_seeds_answer(made: JsonObject | Page | TextPage) -> JsonObject | Page | TextPage:
    """Return a tool's result without addresses, which the seeds' answers do not have."""
    if isinstance(made, dict):
        return without_addresses(made)
    envelope: Callable[[Any], JsonObject] = made.envelope

    def bare(part: Any) -> JsonObject:  # noqa: ANN401  # a list's items or a text
        return without_addresses(envelope(part))

    return replace(made, envelope=bare)


def _quote(text: str) -> str:
    """Encode what is neither a letter, a digit nor one of `-._~`, of any script."""
    return _ODD.sub(lambda found: quote(found[0], safe="", errors="surrogateescape"), text)


def _unquote(text: str) -> str:
    """Decode a part of an address; bytes that are no UTF-8 as in the names of files."""
    return unquote(text, errors="surrogateescape")


def _split_version(name: str, form: re.Pattern[str]) -> tuple[str, str]:
    """Split off what follows the last `@`, if it looks like a version."""
    before, mark, version = name.rpartition("@")
    return (before, version) if mark and form.fullmatch(version) else (name, "")


def _parse_lines(fragment: str, text: str) -> tuple[int, int] | None:
    if not fragment:
        return None
    found = _LINES.fullmatch(fragment)
    if found is None:
        raise _no_address(text)
    first, last = int(found[1]), int(found[2] or found[1])
    if not 1 <= first <= last:
        raise _no_address(text)
    return first, last


def _no_address(text: str) -> InvalidArgument:
    return InvalidArgument(f"{value_preview(text)} is no address", hint=_HINT)
