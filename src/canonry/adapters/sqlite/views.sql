-- The views: folded from the records, dropped and folded again when VIEWS_VERSION changes.
CREATE TABLE things (
  n INTEGER PRIMARY KEY,
  id ANY NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  body BLOB NOT NULL
) STRICT;

-- what a thing was before it changed, from the position `since` on
CREATE TABLE versions (
  n INTEGER PRIMARY KEY,
  id ANY NOT NULL,
  since INTEGER NOT NULL,
  kind TEXT NOT NULL,
  body BLOB NOT NULL,
  UNIQUE (id, since)
) STRICT;

-- every list that a query pages through; see listing.py
CREATE TABLE listing (
  list INTEGER NOT NULL,
  owner ANY NOT NULL,
  space ANY NOT NULL,
  facet TEXT NOT NULL,
  rank ANY NOT NULL,
  later INTEGER NOT NULL,
  id ANY NOT NULL,
  starts INTEGER,
  ends INTEGER,
  name TEXT,
  PRIMARY KEY (list, owner, space, facet, rank, later, id)
) STRICT, WITHOUT ROWID;

-- how many rows a list has under each facet, so that a total is never a count over everything
CREATE TABLE counts (
  list INTEGER NOT NULL,
  owner ANY NOT NULL,
  space ANY NOT NULL,
  facet TEXT NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (list, owner, space, facet)
) STRICT, WITHOUT ROWID;

-- rowid = things.n; each stem carries the mark of its space and collection; see passages.py
CREATE VIRTUAL TABLE passages USING fts5 (
  words, marks, content='', tokenize="ascii tokenchars '_@'"
);
INSERT INTO passages (passages, rank) VALUES ('secure-delete', 1);
-- things.n of passages that are not in the keyword index yet; see waiting.py
CREATE TABLE unindexed (
  n INTEGER PRIMARY KEY
) STRICT;

-- what search and ranking need of an indexed passage, without decoding its thing; n = things.n
CREATE TABLE passage_stems (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  mark TEXT NOT NULL,
  scene TEXT,
  place INTEGER,
  source TEXT,
  entities TEXT NOT NULL,
  stems TEXT NOT NULL
) STRICT;

-- in how many indexed passages of a space and collection a stem occurs, in order of the alphabet
CREATE TABLE stem_counts (
  mark TEXT NOT NULL,
  stem TEXT NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (mark, stem)
) STRICT, WITHOUT ROWID;
