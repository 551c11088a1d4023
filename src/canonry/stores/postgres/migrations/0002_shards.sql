-- Spaces on several servers. These tables are empty in a store on one server.
-- `away`: the space must not be written here. It is on another server, or is moving.
ALTER TABLE heads ADD COLUMN away boolean NOT NULL DEFAULT false;

-- An append first locks the head by an update. This trigger stops every process there, also one
-- that does not know that the space has moved, or whose version cannot move spaces.
CREATE FUNCTION refuse_away() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('canonry.moving', true) IS DISTINCT FROM 'on' THEN
    RAISE EXCEPTION 'the space lives on another server' USING ERRCODE = 'CY001';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER heads_away BEFORE UPDATE ON heads FOR EACH ROW
  WHEN (OLD.away AND NEW.away) EXECUTE FUNCTION refuse_away();

-- The servers of the store: this one and, on the first server, all others.
CREATE TABLE shards (
  server text COLLATE "C" PRIMARY KEY,
  store text COLLATE "C" NOT NULL,
  own boolean NOT NULL
);
CREATE UNIQUE INDEX shards_own ON shards (own) WHERE own;

-- On the first server: the server of each space. `moved` grows with every move of any space.
CREATE TABLE homes (
  space text COLLATE "C" PRIMARY KEY,
  server text COLLATE "C" NOT NULL,
  moved bigint NOT NULL DEFAULT 0
);
CREATE INDEX homes_by_move ON homes (moved) WHERE moved > 0;
