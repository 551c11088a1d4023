"""Notes and tasks."""

from typing import Final

from canonry.log.schemas.truth_types.kit import (
    ARRAY,
    PRIORITY,
    array,
    built_in,
    date,
    key,
    text,
    texts,
)

_IMPORT: Final = (date("import_date"), text("import_source_file"))

NOTE: Final = built_in(
    "note",
    "Note",
    also="journal memo nota notiz",
    fields=(
        text("title", "subject", "name"),
        text("content", "body", "text", required=True, policy=PRIORITY),
        array("tags", policy=ARRAY),
        text("source"),
        date("created_date", "date_created", "date", event="NoteCreated"),
        date("updated_date", "date_updated"),
        *texts("summary notes"),
        *_IMPORT,
    ),
    identity=(key("title", optional="created_date"),),
    names=("title", "summary", "source created_date"),
)

TASK: Final = built_in(
    "task",
    "Task",
    also="todo action_item aufgabe tarea",
    fields=(
        text("title", "name", "summary", required=True),
        text("status", required=True),
        text("description", policy=PRIORITY),
        text("notes", policy=PRIORITY),
        text("project_id", "project"),
        text("external_id", "task_id"),
        date("due_date", "date_due", "deadline", event="TaskDue"),
        date("completed_date", "date_completed", event="TaskCompleted"),
        date("start_date", event="TaskStart"),
        date("created_date", "date_created"),
        date("updated_date", "date_updated"),
        date("created_at"),
        date("updated_at"),
        array("tags", policy=ARRAY),
        *texts("priority assignee task_type due_context"),
        *_IMPORT,
    ),
    identity=(
        key("external_id"),
        key("project_id title", optional="due_date"),
        key("title", optional="due_date"),
    ),
    names=("title",),
)
