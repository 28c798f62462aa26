"""The public API for applications: `Plait`, jobs, handles, and the functions that handlers call."""
