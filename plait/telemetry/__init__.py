"""Metrics and traces. Logs are in `plait.runtime.logging`.

    catalogue.py   every metric: its name, type, labels and meaning; docs, dashboard and alerts are tested against it
    exposition.py  metrics in the Prometheus format, from all sources of a process
    database.py    the installation's metrics, read from the leader's counts at each scrape
    histogram.py   histograms, updated a batch at a time
    server.py      `/metrics` on a separate listener, for processes without an API, and for scraping without a key
    tracing.py     spans, if the application has configured OpenTelemetry; otherwise no cost

Telemetry must not slow down jobs. The database's metrics are read at each scrape, from counts that the leader maintains anyway; a worker's
metrics are updated once per round trip.
To add a metric, add it to catalogue.py and update it where it is measured; the dashboard and the alerts are in `deploy/`.
"""
