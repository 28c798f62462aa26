"""What plait tells of itself to machines: metrics and traces. Logs are `plait.runtime.logging`.

    catalogue.py   every metric: its name, kind, labels and meaning; the docs, the dashboard and the alerts are tested against it
    exposition.py  metrics as Prometheus reads them, from whoever has some
    database.py    the installation's numbers, read from the leader's counts when somebody asks
    histogram.py   how many of a batch fell where: counted a batch at a time
    server.py      `/metrics` on a listener of its own, for processes without an API, and for scraping without a key
    tracing.py     spans, where the application has configured OpenTelemetry; else nothing, at no cost

Nothing here may cost a job anything. What the database knows is read when it is scraped, from counts that the leader makes anyway;
what a worker knows is counted once for each round trip.
"""
