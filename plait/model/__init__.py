"""The vocabulary of plait: states, ids, errors, policies. No I/O, and no imports from other packages."""
