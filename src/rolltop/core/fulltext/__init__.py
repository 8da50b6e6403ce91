"""The index that toolsets share: put things in, take them out, find them by words and meaning.

A thing is (kind, id) with filters and parts of text. Writes (`indexer`) belong to the transaction
of what they describe: a thing is found by its words (`hybrid_query`) as soon as that is committed.
Vectors (`vector_store`) follow from a background job. Everything keeps to the transaction's tenant.

Importing this loads neither SQLAlchemy nor numpy; only vectors need numpy (extra `semantic`).
"""
