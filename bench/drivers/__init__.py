"""One driver for each system: it imports the peer and the standard library. driving.py describes the protocol of a driver."""
