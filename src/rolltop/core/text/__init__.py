"""Text as the toolsets read it: decoding, lines, outlines; pure functions."""
