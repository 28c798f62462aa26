"""The basis of a process: settings, logs, the start/stop contract of a service."""
