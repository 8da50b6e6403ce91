"""Rolltop: one MCP server that gives AI agents a durable desk."""

import os

__version__ = "0.1.0"

# OpenBLAS's threads speed up a product five times, but while they wait they spin, 2 to the power of
# this many turns, and take a processor from other calls. Read when numpy loads.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
# Read when the runtime loads: else it reports to its maker over the network and writes a device id
# under the user's home directory.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
