"""All of the SQL of scratch. Every statement names the owner, on every table it touches.

A pad in the trash keeps its rows with `deleted_at` set; nothing else of it changes.
"""
