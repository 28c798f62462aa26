"""One driver for each system: it imports the peer, and the standard library. driving.py says what a driver is."""
