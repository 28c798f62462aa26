"""Rules over the tree itself: what a file may be called, import, hold or say. None needs a database."""
