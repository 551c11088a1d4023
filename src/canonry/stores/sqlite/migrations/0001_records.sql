-- The records: commits in the order in which this store took them, and their erasable parts.
CREATE TABLE meta (
  name TEXT NOT NULL PRIMARY KEY,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE commits (
  seq INTEGER PRIMARY KEY,
  space ANY NOT NULL,
  position INTEGER NOT NULL,
  id ANY NOT NULL UNIQUE,
  recorded_at INTEGER NOT NULL,
  hash BLOB NOT NULL,
  body BLOB NOT NULL,
  touched BLOB NOT NULL,
  UNIQUE (space, position)
) STRICT;

-- salt is null if the part was erased. payload is null if it is stored as a blob.
CREATE TABLE parts (
  seq INTEGER NOT NULL,
  entry INTEGER NOT NULL,
  salt BLOB,
  payload BLOB,
  blob TEXT,
  UNIQUE (seq, entry)
) STRICT;

CREATE INDEX parts_by_blob ON parts (blob) WHERE blob IS NOT NULL;
