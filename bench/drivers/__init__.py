"""One driver for each system: it imports the peer and the standard library. protocol.py describes the protocol of a driver."""
