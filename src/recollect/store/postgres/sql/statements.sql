-- The statements of the engine, by name. Values are always bound parameters.

-- name: find_table
SELECT to_regclass(:name) IS NOT NULL;

-- name: lock_schema
SELECT pg_advisory_xact_lock(7365636);

-- name: stamp_revision
INSERT INTO recollect.revision (revision) VALUES (:revision);

-- name: get_revision
SELECT revision FROM recollect.revision;

-- name: put_setting
SELECT set_config(:name, :value, false);

-- name: get_setting
SELECT current_setting(:name);

-- name: list_vacuums
-- Each table and the statement that writes it again with its indexes; the server spells the names.
SELECT c.relname, format('VACUUM (FULL, VERBOSE) %I.%I', n.nspname, c.relname)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE (n.nspname = 'recollect' AND c.relkind = 'r')
  OR (n.nspname = 'pg_catalog' AND c.relname = 'pg_statistic')
ORDER BY n.nspname DESC, c.relname;

-- name: what_ages
-- What says how long the server's write-ahead log still holds what was deleted.
SELECT pg_catalog.current_setting('max_wal_size'), pg_catalog.current_setting('wal_keep_size'),
  pg_catalog.current_setting('archive_mode'),
  (SELECT count(*) FROM pg_catalog.pg_replication_slots);

-- name: tail
-- Where a ledger ends, what it has after an event, and the token that asks: one look, one state.
SELECT s.id, s.seq, s.hash, s.at, s.size, s.epoch, s.blocks,
  ARRAY(
    SELECT e.line FROM (
      SELECT e.line, e.seq, sum(length(e.line)) OVER (ORDER BY e.seq) - length(e.line) AS before
      FROM (
        SELECT line, seq FROM recollect.events WHERE space = s.id AND seq > :after
        ORDER BY seq LIMIT :most
      ) e
    ) e WHERE e.before < :bytes ORDER BY e.seq
  ),
  t.id, t.label, t.space, t.verbs, t.origin, t."user", t.agent, t.made, t.expires, t.revoked,
  t.revoked IS NULL AND (t.expires IS NULL OR t.expires > clock_timestamp())
FROM (SELECT 1) one
LEFT JOIN recollect.spaces s ON s.name = :name
LEFT JOIN recollect.tokens t ON t.hash = :hash::bytea;

-- name: lock_space
-- Writers that were late several times wait for their turn.
SELECT 1 FROM recollect.spaces WHERE id = :space FOR UPDATE;

-- name: append
SELECT recollect.append(
  :space, :head, :headed, :lines, :hashed, :dated, :targets::bigint[], :subjects::text[]
);

-- name: make_space
INSERT INTO recollect.spaces (name) VALUES (:name) ON CONFLICT (name) DO NOTHING;

-- name: page
-- The lines after an event, up to about so many bytes.
SELECT e.line, e.seq FROM (
  SELECT e.line, e.seq, sum(length(e.line)) OVER (ORDER BY e.seq) - length(e.line) AS before
  FROM (
    SELECT line, seq FROM recollect.events WHERE space = :space AND seq > :after
    ORDER BY seq LIMIT :most
  ) e
) e WHERE e.before < :bytes ORDER BY e.seq;

-- name: lines
SELECT seq, line FROM recollect.events WHERE space = :space AND seq = ANY (:seqs::bigint[]);

-- name: last_seal
SELECT coalesce(max(seq), 1) FROM recollect.events
WHERE space = :space AND position('"kind":"ledger.sealed"'::bytea IN line) BETWEEN 1 AND 400;

-- name: restart
SELECT recollect.restart(:space, :hash);

-- name: begin_still
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;

-- name: begin
BEGIN;

-- name: commit
COMMIT;

-- name: erase
UPDATE recollect.events e SET line = u.line
FROM unnest(:seqs::bigint[], :lines::bytea[]) u (seq, line)
WHERE e.space = :space AND e.seq = u.seq AND e.line <> u.line;

-- name: resize
UPDATE recollect.spaces SET size = coalesce(
  (SELECT sum(length(line) + 1) FROM recollect.events WHERE space = :space), 0
) WHERE id = :space;

-- name: has_space
SELECT 1 FROM recollect.spaces WHERE name = :name;

-- name: spaces
SELECT name FROM recollect.spaces ORDER BY name;

-- name: heads
SELECT name, seq FROM recollect.spaces WHERE name = ANY (:names) AND seq > 0;

-- name: drop_space
SELECT recollect.drop_space(:space, :at, :by, :first, :reason);

-- name: dropped
SELECT space, at, by, seq, head, first, reason FROM recollect.dropped ORDER BY id;

-- name: get_snapshot
-- The newest is the one whose index can be read; others are of other releases.
SELECT seq, image FROM recollect.snapshots WHERE space = :space AND version = :version;

-- name: keep_snapshot
SELECT recollect.keep_snapshot(:space, :epoch, :version, :seq, :image);

-- name: get_blocks
SELECT embedder, after, through, rows FROM recollect.blocks
WHERE space = :space AND embedder = :embedder AND after >= :after ORDER BY after;

-- name: blocks_holding
SELECT DISTINCT b.embedder, b.after, b.through, b.rows
FROM recollect.blocks b JOIN unnest(:targets::bigint[]) t ON t > b.after AND t <= b.through
WHERE b.space = :space;

-- name: keep_block
SELECT recollect.keep_block(:space, :epoch, :embedder, :after, :through, :rows);
