"""What a process needs to run: settings, logs, the start/stop contract of a service."""
