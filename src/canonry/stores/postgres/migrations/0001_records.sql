-- The records: one log per space, and bytes by their hash. Every key begins with the space.
CREATE TABLE meta (
  name text COLLATE "C" PRIMARY KEY,
  value bigint NOT NULL
);

-- The head of each space's log. An append locks its row.
CREATE TABLE heads (
  space text COLLATE "C" PRIMARY KEY,
  position bigint NOT NULL,
  recorded_at bigint NOT NULL,
  hash bytea NOT NULL
);

-- A commit with its erasable parts: each array has one element per entry, NULL if erased. `seq`
-- grows with every commit after its causes. Caches find new commits by `transaction`.
CREATE TABLE commits (
  space text COLLATE "C" NOT NULL,
  position bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  recorded_at bigint NOT NULL,
  hash bytea NOT NULL,
  body bytea NOT NULL,
  salts bytea[] NOT NULL,
  payloads bytea[] NOT NULL,
  touched bigint[] NOT NULL,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
  PRIMARY KEY (space, position),
  UNIQUE (space, id)
);
CREATE INDEX commits_by_seq ON commits (seq);
CREATE INDEX commits_by_id ON commits (id);
CREATE INDEX commits_by_transaction ON commits (transaction);
CREATE INDEX commits_by_instant ON commits (space, recorded_at);

-- The bytes of files, separate for each user.
CREATE TABLE blobs (
  owner text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL,
  stored_at timestamptz NOT NULL DEFAULT now(),
  data bytea NOT NULL,
  PRIMARY KEY (owner, digest)
);
