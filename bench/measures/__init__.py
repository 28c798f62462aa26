"""The measures, by subject. catalogue.py lists them in the order in which they run."""
