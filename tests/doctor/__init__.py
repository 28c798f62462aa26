"""Each finding of the doctor is provoked and found; a healthy system has none."""
