"""Tests of Rolltop: the folders mirror src; contracts, conformance and torture cut across."""
