-- The views: folded from the records, and dropped and folded again when VIEWS_VERSION changes.
CREATE TABLE things (
  n INTEGER PRIMARY KEY,
  id ANY NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  body BLOB NOT NULL
) STRICT;

-- Former states of items, each from the position `since` on.
CREATE TABLE versions (
  n INTEGER PRIMARY KEY,
  id ANY NOT NULL,
  since INTEGER NOT NULL,
  kind TEXT NOT NULL,
  body BLOB NOT NULL,
  UNIQUE (id, since)
) STRICT;

-- The position up to which views show a log of another engine. No code writes it any more.
CREATE TABLE shown (
  space ANY NOT NULL PRIMARY KEY,
  position INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Every list that queries page through. See readmodels/listing.py.
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

-- The number of rows of a list under each facet, so that a total needs no count over all rows.
CREATE TABLE counts (
  list INTEGER NOT NULL,
  owner ANY NOT NULL,
  space ANY NOT NULL,
  facet TEXT NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (list, owner, space, facet)
) STRICT, WITHOUT ROWID;

-- Texts that find an entity, and the entity that it was merged into. See sqlite/sightings.py.
CREATE TABLE identifiers (
  space ANY NOT NULL,
  key TEXT NOT NULL,
  id ANY NOT NULL,
  entity_type TEXT NOT NULL,
  born INTEGER NOT NULL,
  merged_into ANY,
  root ANY NOT NULL AS (coalesce(merged_into, id)),
  PRIMARY KEY (space, key, id)
) STRICT, WITHOUT ROWID;

-- Events at the dates in fields, newest first. See sqlite/sightings.py.
CREATE TABLE timeline (
  current INTEGER NOT NULL,
  space ANY NOT NULL,
  event_type TEXT NOT NULL,
  rank INTEGER NOT NULL,
  event ANY NOT NULL,
  entity ANY NOT NULL,
  field TEXT NOT NULL,
  observation ANY NOT NULL,
  source ANY NOT NULL,
  PRIMARY KEY (current, space, event_type, rank, event, entity, field, observation)
) STRICT, WITHOUT ROWID;
CREATE INDEX timeline_of_source ON timeline (source, current, rank);

-- rowid = things.n. Each stem has the mark of its space and collection. See sqlite/views.py.
CREATE VIRTUAL TABLE passages USING fts5 (
  words, marks, content='', tokenize="ascii tokenchars '_@'"
);
INSERT INTO passages (passages, rank) VALUES ('secure-delete', 1);
-- things.n of passages that wait to enter the keyword index. See sqlite/text.py.
CREATE TABLE unindexed (
  n INTEGER PRIMARY KEY
) STRICT;

-- Data of indexed passages for search and ranking, without decoding the item. n = things.n.
CREATE TABLE passage_stems (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  mark TEXT NOT NULL,
  scene TEXT,
  place INTEGER,
  source TEXT,
  about TEXT,
  stems TEXT NOT NULL,
  entities TEXT NOT NULL AS (coalesce(about, id))
) STRICT;

-- The number of indexed passages of a space and collection with each stem, in stem order.
CREATE TABLE stem_counts (
  mark TEXT NOT NULL,
  stem TEXT NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (mark, stem)
) STRICT, WITHOUT ROWID;

-- The projects of a catalog in the order of replies. See sqlite/catalog.py.
CREATE TABLE catalog_projects (
  place TEXT NOT NULL,
  id ANY NOT NULL,
  slug TEXT NOT NULL,
  PRIMARY KEY (place, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX catalog_project_slugs ON catalog_projects (slug, id);

-- Every item of a project by its kind and its unique word, such as its slug.
CREATE TABLE catalog_items (
  space ANY NOT NULL,
  kind TEXT NOT NULL,
  word TEXT NOT NULL,
  id ANY NOT NULL,
  thing ANY NOT NULL,
  PRIMARY KEY (space, kind, word, id)
) STRICT, WITHOUT ROWID;

-- Searchable texts of entities, case-folded, in the order of replies. n = things.n.
CREATE TABLE catalog_texts (
  space ANY NOT NULL,
  updated TEXT NOT NULL,
  id ANY NOT NULL,
  kind TEXT NOT NULL,
  n INTEGER NOT NULL,
  title TEXT NOT NULL,
  slug TEXT NOT NULL,
  summary TEXT NOT NULL,
  PRIMARY KEY (space, updated DESC, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX catalog_texts_n ON catalog_texts (n);

-- The trigram index of these texts.
CREATE VIRTUAL TABLE catalog_grams USING fts5 (
  title, slug, summary,
  content='catalog_texts', content_rowid='n', columnsize=0, tokenize='trigram case_sensitive 1'
);
INSERT INTO catalog_grams (catalog_grams, rank) VALUES ('secure-delete', 1);

-- The entities of graphs, by the ids of their items in the log.
CREATE TABLE catalog_nodes (
  thing ANY PRIMARY KEY NOT NULL,
  id ANY NOT NULL,
  place TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The neighbours of each entity, in the order of replies.
CREATE TABLE catalog_neighbours (
  thing ANY NOT NULL,
  rel_type TEXT NOT NULL,
  place TEXT NOT NULL,
  id ANY NOT NULL,
  outward INTEGER NOT NULL,
  other ANY NOT NULL,
  PRIMARY KEY (thing, rel_type, place, id, outward)
) STRICT, WITHOUT ROWID;

-- Every current relation between items of a catalog.
CREATE TABLE catalog_edges (
  source ANY NOT NULL,
  target ANY NOT NULL,
  rel_type TEXT NOT NULL,
  relation ANY NOT NULL,
  PRIMARY KEY (source, target, rel_type)
) STRICT, WITHOUT ROWID;
