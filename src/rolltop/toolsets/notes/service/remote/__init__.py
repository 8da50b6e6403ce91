"""Notes in step with a backend: accounts, the sync cycle, and writes that go there first.

No transaction is open while the network is waited for: fetch, one short write, fetch.
"""
