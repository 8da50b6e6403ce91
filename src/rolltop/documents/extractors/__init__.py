"""Bytes to documents, whatever their format: text, notebook, PDF, Word, PowerPoint or EPUB.

Lines of sections are lines of `ParsedDocument.text`, which for formats other than text is rendered.
"""
