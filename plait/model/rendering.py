"""Render a trigger's job for one firing: its templates, and the payload validated against the definition's schema."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from plait.model.errors import InvalidSchema, InvalidTemplate, InvalidTrigger
from plait.model.schemas import Fault, faults, template_fault
from plait.model.templates import render, render_text
from plait.model.texts import clean, message_of


def rendered(payload: str, scope: Mapping[str, Any], schema: str | None, **keys: str | None) -> dict[str, Any]:
    """The payload and the keys, or `error` if rendering or validation fails. Never raises: templates and data may be anything, and one trigger's error
    must not delay the others."""
    try:
        filled = render(msgspec.json.decode(payload), scope)
        said = {name: render_text(template, scope, what=name) for name, template in keys.items()}
        wrong = None if schema is None else faults(schema, filled)
    except (InvalidTemplate, InvalidSchema) as error:
        return refused(str(error))
    except Exception as error:  # noqa: BLE001 - MemoryError too: an event that raises would be retried forever, and block all events after it
        return refused(f"the template cannot be rendered: {message_of(error) or type(error).__name__}")
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
    """The template variables of an event, except its data, which is `event.*`."""
    return {"event_id": str(event_id), "event_name": name, "event_at": at.isoformat()}


def check_template(definition: str, schema: Mapping[str, Any] | str | None, template: Mapping[str, Any]) -> None:
    """Reject a trigger whose jobs can never match the schema of its definition; the error names the field."""
    if (wrong := template_misfit(definition, schema, template)) is not None:
        raise InvalidTrigger(wrong[0])


def template_misfit(
    definition: str, schema: Mapping[str, Any] | str | None, template: Mapping[str, Any]
) -> tuple[str, Fault | None] | None:
    """Why no job of a trigger can match the schema of its definition: a sentence, and the field if it is one."""
    try:
        fault = None if schema is None else template_fault(schema, template)
        if fault is None:
            return None
        said = f"{'.'.join(['payload', *map(str, fault.path)])}: {fault.message}"
    except (InvalidSchema, ValueError, TypeError, RecursionError) as error:
        said, fault = str(error), None
    return f"no job of this trigger can match the schema of {definition}: {said}", fault
