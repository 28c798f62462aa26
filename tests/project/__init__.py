"""Rules about the source tree: names, imports and contents of files. No test here needs a database."""
