"""Permissions of each login, tested with that login. Attacks S1, S4, S6, S7 and S8, failure modes T110, T128 and T129.

Tests are generated from the catalogue where possible, so that a new table, view or function is tested, or
fails a test.
"""
