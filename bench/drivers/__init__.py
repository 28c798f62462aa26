"""One driver for each system. A driver imports only its system and the standard library. protocol.py describes the protocol of drivers."""
