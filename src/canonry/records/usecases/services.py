"""The services of records: where files are kept, and tables of accounts that were asked last."""

from dataclasses import dataclass, field

from canonry.records.usecases.asking.record_tables import RecordTables
from canonry.records.usecases.filing import Filing


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordServices:
    """Without `filing`, no files are kept."""

    filing: Filing | None = None
    record_tables: RecordTables = field(default_factory=RecordTables)

    async def close(self) -> None:
        """Close connections of interpreters and the host of files."""
        if self.filing is not None:
            await self.filing.close()
