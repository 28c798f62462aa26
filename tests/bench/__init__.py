"""The benchmark's arithmetic and report; `make bench` runs the measures."""
