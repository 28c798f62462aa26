"""The words of plait: states, ids, errors, policies. No I/O, and no knowledge of anything above."""
