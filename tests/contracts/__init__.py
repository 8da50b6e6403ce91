"""What holds of the source tree as a whole."""
