"""Metrics, traces, logs, and the configuration in deploy/."""
