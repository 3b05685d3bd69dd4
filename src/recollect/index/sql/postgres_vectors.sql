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

-- Guarded as the tables of the index are.
DO $$
DECLARE
  name text;
  columns text;
BEGIN
  FOREACH name IN ARRAY ARRAY['embedders', 'vectors'] LOOP
    EXECUTE format('ALTER TABLE recollect.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE recollect.%I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format(
      'CREATE POLICY entered ON recollect.%I FOR SELECT USING (space = (SELECT recollect.here()))',
      name
    );
    EXECUTE format(
      'CREATE POLICY added ON recollect.%I FOR INSERT'
      ' WITH CHECK (space = (SELECT recollect.here_to_write()))', name
    );
    EXECUTE format(
      'CREATE POLICY changed ON recollect.%I FOR UPDATE'
      ' USING (space = (SELECT recollect.here_to_write()))', name
    );
    EXECUTE format(
      'CREATE POLICY removed ON recollect.%I FOR DELETE'
      ' USING (space = (SELECT recollect.here_to_write()))', name
    );
    EXECUTE format(
      'GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.%I TO recollect_app', name
    );
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO columns
    FROM pg_attribute WHERE attrelid = format('recollect.%I', name)::regclass AND attnum > 1
      AND NOT attisdropped;
    EXECUTE format(
      'CREATE VIEW recollect_here.%I WITH (security_invoker) AS SELECT %s FROM recollect.%I'
      ' WHERE space = nullif(current_setting(''recollect.space'', true), '''')::bigint',
      name, columns, name
    );
    EXECUTE format(
      'GRANT SELECT, INSERT, UPDATE, DELETE ON recollect_here.%I TO recollect_app', name
    );
  END LOOP;
END
$$;
