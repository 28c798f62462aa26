"""The basis of a process: settings, logs, the start/stop contract of a service.

    settings.py     environment variables (PLAIT_…), each with its description; setting_errors.py: messages for invalid settings
    service.py      the start/stop contract of a service, and the process that runs services
    logging.py      structured logs, with secrets redacted
    outage.py       temporary failures: exponential backoff, and one log line for each outage
    connections.py  limits and timeouts of HTTP connections; listening.py: the server's address
    object_storage.py  bytes outside of the database (artifacts, archive): a directory or S3
    secrets.py      secrets of a process
    warden.py       the process that runs one command and ends all processes that the command started

Nothing here connects to the database.
"""
