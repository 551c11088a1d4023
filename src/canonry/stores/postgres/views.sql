-- The views: folded from the records, in a schema of their own that a rebuild replaces as a whole.
CREATE TABLE things (
  space text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (space, id)
);
CREATE INDEX things_by_id ON things (id);

-- what a thing was before it changed, from the position `since` on
CREATE TABLE versions (
  space text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  since bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (space, id, since)
);
CREATE INDEX versions_by_id ON versions (id, since);

-- how far the views show a log that another engine keeps
CREATE TABLE shown (
  space text COLLATE "C" PRIMARY KEY,
  position bigint NOT NULL
);

-- every list that a query pages through; see readmodels/listing.py
CREATE TABLE listing (
  space text COLLATE "C" NOT NULL,
  list smallint NOT NULL,
  owner text COLLATE "C" NOT NULL,
  facet text COLLATE "C" NOT NULL,
  rank bigint NOT NULL,
  later bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  starts bigint,
  ends bigint,
  name text COLLATE "C",
  PRIMARY KEY (space, list, owner, facet, rank, later, id)
);
-- lists that are read by their owner alone: causes, turns and observations
CREATE INDEX listing_of_owners ON listing (owner, list, rank, later, id)
  WHERE list IN (9, 21, 25, 27);

CREATE TABLE counts (
  space text COLLATE "C" NOT NULL,
  list smallint NOT NULL,
  owner text COLLATE "C" NOT NULL,
  facet text COLLATE "C" NOT NULL,
  n bigint NOT NULL,
  PRIMARY KEY (space, list, owner, facet)
);
CREATE INDEX counts_by_owner ON counts (owner, list);

CREATE TABLE identifiers (
  space text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  entity_type text COLLATE "C" NOT NULL,
  born bigint NOT NULL,
  root text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, key, id)
);
CREATE INDEX identifiers_by_key ON identifiers (key);

-- what happens at the dates that fields say, newest first
CREATE TABLE timeline (
  space text COLLATE "C" NOT NULL,
  current boolean NOT NULL,
  event_type text COLLATE "C" NOT NULL,
  rank bigint NOT NULL,
  event text COLLATE "C" NOT NULL,
  entity text COLLATE "C" NOT NULL,
  field text COLLATE "C" NOT NULL,
  observation text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, current, event_type, rank, event, entity, field, observation)
);
CREATE INDEX timeline_of_source ON timeline (source, current, rank);
CREATE INDEX timeline_by_rank ON timeline (current, rank, event);

-- what is searched by its words: `terms` are hashes of a space, a collection and a stem each
CREATE TABLE passages (
  space text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  collection text COLLATE "C" NOT NULL,
  scene text COLLATE "C",
  place bigint,
  source text COLLATE "C",
  entities text[] COLLATE "C" NOT NULL,
  stems text COLLATE "C" NOT NULL,
  terms bigint[] NOT NULL,
  PRIMARY KEY (space, id)
);
CREATE INDEX passages_by_id ON passages (id);
CREATE INDEX passages_by_term ON passages USING gin (terms);

CREATE TABLE stem_counts (
  space text COLLATE "C" NOT NULL,
  collection text COLLATE "C" NOT NULL,
  stem text COLLATE "C" NOT NULL,
  n bigint NOT NULL,
  PRIMARY KEY (space, collection, stem)
);

CREATE TABLE catalog_projects (
  space text COLLATE "C" PRIMARY KEY,
  place text COLLATE "C" NOT NULL,
  slug text COLLATE "C" NOT NULL
);
CREATE INDEX catalog_projects_by_place ON catalog_projects (place, space);
CREATE INDEX catalog_projects_by_slug ON catalog_projects (slug, space);

-- the items of a project; the texts of content are folded, and NULL where agents do not see it
CREATE TABLE catalog_items (
  space text COLLATE "C" NOT NULL,
  thing text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  word text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  place text COLLATE "C",
  updated text COLLATE "C" NOT NULL,
  title text COLLATE "C" NOT NULL,
  slug text COLLATE "C" NOT NULL,
  summary text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, thing)
);
CREATE INDEX catalog_items_by_word ON catalog_items (space, kind, word, id);
CREATE INDEX catalog_items_by_update ON catalog_items (space, updated DESC, id);

CREATE TABLE catalog_edges (
  space text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL,
  target text COLLATE "C" NOT NULL,
  rel_type text COLLATE "C" NOT NULL,
  relation text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, source, target, rel_type, relation)
);
CREATE INDEX catalog_edges_from ON catalog_edges (source, target, rel_type);
CREATE INDEX catalog_edges_to ON catalog_edges (target);
