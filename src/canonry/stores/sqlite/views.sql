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

-- how far views show a log that another engine keeps; see keeping.py
CREATE TABLE shown (
  space ANY NOT NULL PRIMARY KEY,
  position INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- every list that a query pages through; see readmodels/listing.py
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

-- under which texts an entity is found, and which entity it became; see identifiers.py
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

-- what happens at the dates that fields say, newest first; see timeline.py
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
  about TEXT,
  stems TEXT NOT NULL,
  entities TEXT NOT NULL AS (coalesce(about, id))
) STRICT;

-- in how many indexed passages of a space and collection a stem occurs, in order of the alphabet
CREATE TABLE stem_counts (
  mark TEXT NOT NULL,
  stem TEXT NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (mark, stem)
) STRICT, WITHOUT ROWID;

-- the projects of a catalog in the order in which they are told; see catalog/views.py
CREATE TABLE catalog_projects (
  place TEXT NOT NULL,
  id ANY NOT NULL,
  slug TEXT NOT NULL,
  PRIMARY KEY (place, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX catalog_project_slugs ON catalog_projects (slug, id);

-- every item of a project by its kind and the word that is its own
CREATE TABLE catalog_items (
  space ANY NOT NULL,
  kind TEXT NOT NULL,
  word TEXT NOT NULL,
  id ANY NOT NULL,
  thing ANY NOT NULL,
  PRIMARY KEY (space, kind, word, id)
) STRICT, WITHOUT ROWID;

-- what is searched of entities, folded, in the order in which it is told; n = things.n
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

-- where three characters or more occur in them
CREATE VIRTUAL TABLE catalog_grams USING fts5 (
  title, slug, summary,
  content='catalog_texts', content_rowid='n', columnsize=0, tokenize='trigram case_sensitive 1'
);
INSERT INTO catalog_grams (catalog_grams, rank) VALUES ('secure-delete', 1);

-- the entities of graphs, by the ids of their things
CREATE TABLE catalog_nodes (
  thing ANY PRIMARY KEY NOT NULL,
  id ANY NOT NULL,
  place TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- the entities beside each entity, in the order in which they are told
CREATE TABLE catalog_neighbours (
  thing ANY NOT NULL,
  rel_type TEXT NOT NULL,
  place TEXT NOT NULL,
  id ANY NOT NULL,
  outward INTEGER NOT NULL,
  other ANY NOT NULL,
  PRIMARY KEY (thing, rel_type, place, id, outward)
) STRICT, WITHOUT ROWID;

-- every relation that holds between items of a catalog
CREATE TABLE catalog_edges (
  source ANY NOT NULL,
  target ANY NOT NULL,
  rel_type TEXT NOT NULL,
  relation ANY NOT NULL,
  PRIMARY KEY (source, target, rel_type)
) STRICT, WITHOUT ROWID;
