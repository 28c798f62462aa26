"""Each finding of the doctor's is provoked for real, and found; a healthy system has none."""
