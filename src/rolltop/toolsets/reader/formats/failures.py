"""What is told when a document cannot be read."""

from __future__ import annotations

from rolltop.core.errors import Invalid


def missing_extra(name: str) -> Invalid:
    """Return the error for a format whose library is not installed."""
    return Invalid(
        f"{name} files are read by an optional library that is not installed",
        code="FORMAT_UNSUPPORTED",
        hint="Install the extra rolltop[documents] and start the server again.",
    )


def unsupported(name: str, instead: str) -> Invalid:
    """Return the error for a format that is not read."""
    return Invalid(
        f"{name} files are not read",
        code="FORMAT_UNSUPPORTED",
        hint=f"Save the document as {instead} and read that.",
    )


def encrypted(name: str) -> Invalid:
    """Return the error for a document that needs a password."""
    return Invalid(
        f"The {name} file is encrypted and needs a password",
        code="FILE_UNREADABLE",
        hint="Save a copy without a password and read that.",
    )


def damaged(name: str, fault: str = "") -> Invalid:
    """Return the error for a document whose structure is broken."""
    return Invalid(
        f"The {name} file is damaged{': ' if fault else ''}{fault}",
        code="FILE_UNREADABLE",
        hint="Open it in its own program and save it again.",
    )


def too_large(name: str, limit: str) -> Invalid:
    """Return the error for a document that grows beyond all measure when unpacked."""
    return Invalid(
        f"The {name} file unpacks to more than {limit}",
        code="FILE_TOO_LARGE",
        hint="Split the document, or save its text as a text file and read that.",
    )


def binary() -> Invalid:
    """Return the error for a file that holds no text."""
    return Invalid(
        "The file is binary, not text",
        code="FILE_BINARY",
        hint="Only text and documents are read; name another file.",
    )
