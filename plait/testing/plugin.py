"""The pytest plugin that users get."""
