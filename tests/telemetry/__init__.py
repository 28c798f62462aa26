"""Metrics, traces, logs, and what deploy/ makes of them."""
