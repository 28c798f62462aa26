"""What a trigger asks for at one occasion: its templates filled in, and the payload checked against the definition's schema."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from plait.model.errors import InvalidSchema, InvalidTemplate, InvalidTrigger
from plait.model.schemas import faults, template_faults
from plait.model.templates import render, render_text
from plait.model.texts import clean, message_of


def rendered(payload: str, scope: Mapping[str, Any], schema: str | None, **keys: str | None) -> dict[str, Any]:
    """The payload and the keys; `error` instead where something does not fit. Never raises: templates and data are of any kind, and
    one trigger's trouble must not hold up the others."""
    try:
        filled = render(msgspec.json.decode(payload), scope)
        said = {name: render_text(template, scope, what=name) for name, template in keys.items()}
        wrong = None if schema is None else faults(schema, filled)
    except (InvalidTemplate, InvalidSchema) as error:
        return refused(str(error))
    except Exception as error:  # noqa: BLE001 - MemoryError too: an event that raises would be tried for ever, with all behind it
        return refused(f"it cannot be filled in: {message_of(error) or type(error).__name__}")
    if wrong is not None:
        return refused(f"the payload does not fit the schema: {wrong}")
    return {"payload": filled, **said}


def refused(error: str) -> dict[str, Any]:
    return {"payload": {}, "error": clean(error, 2000)}


def trigger_scope(trigger_id: UUID, label: str, definition: str) -> dict[str, Any]:
    return {"id": str(trigger_id), "label": label, "definition": definition}


def tenant_scope(tenant_id: UUID, slug: str, name: str) -> dict[str, Any]:
    return {"id": str(tenant_id), "slug": slug, "name": name}


def schedule_scope(instant: datetime, cron: str | None, zone: str | None) -> dict[str, Any]:
    return {"instant": instant.isoformat(), "cron": cron, "time_zone": zone}


def event_scope(event_id: UUID, name: str, at: datetime) -> dict[str, Any]:
    """What a trigger knows of the event beside its data, which is `event.*` itself."""
    return {"event_id": str(event_id), "event_name": name, "event_at": at.isoformat()}


def check_template(definition: str, schema: Mapping[str, Any] | str | None, template: Mapping[str, Any]) -> None:
    """Refuse a trigger none of whose jobs could match the schema of its definition; with the field."""
    try:
        wrong = None if schema is None else template_faults(schema, template)
    except (InvalidSchema, ValueError, TypeError, RecursionError) as error:
        wrong = str(error)
    if wrong is not None:
        raise InvalidTrigger(f"no job of this trigger can match the schema of {definition}: {wrong}")
