-- The vectors of every space, on PostgreSQL with the extension `vector`. A cache: made with the schema
-- or when it is migrated, if the extension can be had; dropped with the index.
--
-- The extension may lie in any schema, so two functions here stand for its type and its operator.

CREATE EXTENSION IF NOT EXISTS vector SCHEMA recollect;

-- Up to which position every text of a space has its vectors of an embedder.
CREATE TABLE recollect.embedders (
  space bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  dimensions bigint NOT NULL,
  through bigint NOT NULL,
  PRIMARY KEY (space, name)
);

DO $$
DECLARE
  home text := (
    SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
    WHERE e.extname = 'vector'
  );
BEGIN
  EXECUTE format(
    'CREATE TABLE recollect.vectors ('
    ' space bigint NOT NULL, embedder text COLLATE "C" NOT NULL, seq bigint NOT NULL,'
    ' piece bigint NOT NULL, embedding %I.vector NOT NULL,'
    ' PRIMARY KEY (space, embedder, seq, piece))', home
  );
  EXECUTE format(
    'CREATE OR REPLACE FUNCTION recollect.as_vector(given text) RETURNS %1$I.vector'
    ' LANGUAGE sql IMMUTABLE PARALLEL SAFE AS ''SELECT given::%1$I.vector''', home
  );
  EXECUTE format(
    'CREATE OR REPLACE FUNCTION recollect.nearness(one %1$I.vector, other %1$I.vector)'
    ' RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE'
    ' AS ''SELECT 0 - (one OPERATOR(%1$I.<#>) other)''', home
  );
END
$$;
REVOKE ALL ON FUNCTION recollect.as_vector FROM PUBLIC;
REVOKE ALL ON FUNCTION recollect.nearness FROM PUBLIC;
GRANT EXECUTE ON FUNCTION recollect.as_vector, recollect.nearness TO recollect_app;
