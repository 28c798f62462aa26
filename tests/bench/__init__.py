"""The benchmark's own arithmetic and its report; the measures themselves are run by `make bench`."""
