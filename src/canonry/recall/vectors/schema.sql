CREATE TABLE identity (id TEXT NOT NULL) STRICT;
INSERT INTO identity VALUES (lower(hex(randomblob(16))));
CREATE TABLE models (
  m INTEGER PRIMARY KEY, name TEXT NOT NULL, version TEXT NOT NULL, dimensions INTEGER NOT NULL,
  digest TEXT NOT NULL, cursor TEXT NOT NULL, UNIQUE (name, version, dimensions, digest)
) STRICT;
CREATE TABLE vectors (
  n INTEGER PRIMARY KEY AUTOINCREMENT, m INTEGER NOT NULL, id TEXT NOT NULL,
  part INTEGER NOT NULL, collection TEXT NOT NULL, space TEXT NOT NULL, scene TEXT, source TEXT,
  vector BLOB NOT NULL, digest BLOB NOT NULL DEFAULT x''
) STRICT;
CREATE UNIQUE INDEX vectors_by_id ON vectors (m, id, part);
CREATE INDEX vectors_by_space ON vectors (m, collection, space, n);
CREATE INDEX vectors_by_source ON vectors (m, source, n) WHERE source IS NOT NULL;
CREATE TABLE about (
  m INTEGER NOT NULL, entity TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (m, entity, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX about_by_row ON about (n);
