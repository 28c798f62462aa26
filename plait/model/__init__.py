"""The vocabulary of plait: states, ids, errors, policies. No I/O, and no imports from other packages of plait.

    states.py                    states and outcomes, as in plait/sql/schema/40_live.sql
    errors.py                    every error, with its SQLSTATE, message and advice
    policies.py, strategies.py   retry policies and limits; when a fan-out has succeeded
    schedules.py                 the instants of cron expressions and intervals
    templates.py, rendering.py   payloads of triggers; schemas.py: JSON Schemas of payloads
    commands.py, parameters.py   programs as jobs, and their command lines
    roles.py, oidc_grants.py     roles of API keys, and roles from an identity provider
    redaction.py                 how secrets are recognised and removed
    reasons.py                   a remedy for each reason why a job is not running

Tests compare the states and errors with the database's.
"""
