CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;
CREATE TABLE IF NOT EXISTS vector_models (
  n bigint GENERATED ALWAYS AS IDENTITY,
  model text COLLATE "C" PRIMARY KEY,
  name text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  dimensions int NOT NULL,
  weights text COLLATE "C",
  cursor text COLLATE "C" NOT NULL
);
ALTER TABLE vector_models ADD COLUMN IF NOT EXISTS weights text COLLATE "C";
CREATE TABLE IF NOT EXISTS vectors (
  space text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  part int NOT NULL,
  collection text COLLATE "C" NOT NULL,
  entities text[] COLLATE "C" NOT NULL,
  scene text COLLATE "C",
  source text COLLATE "C",
  digest bytea NOT NULL,
  embedding vector NOT NULL,
  PRIMARY KEY (space, model, id, part)
);
CREATE INDEX IF NOT EXISTS vectors_by_id ON vectors (model, id, part);
CREATE INDEX IF NOT EXISTS vectors_by_entity ON vectors USING gin (entities);
