"""plait: a durable, multi-tenant job system for Python on Postgres."""
