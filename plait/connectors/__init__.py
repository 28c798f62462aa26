"""Built-in handlers that reach other people's servers."""
