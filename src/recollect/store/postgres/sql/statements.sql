-- The statements of the engine, by name. Values are always bound parameters.

-- name: find_schema
SELECT to_regclass('recollect.revision') IS NOT NULL;

-- name: lock_schema
SELECT pg_advisory_xact_lock(7365636);

-- name: stamp_revision
INSERT INTO recollect.revision (revision) VALUES (:revision);

-- name: get_revision
SELECT revision FROM recollect.revision;

-- name: set_up
-- What a connection begins with, in one trip. Behind a pooler the process that answers is not the one that was
-- connected, and belongs to others in a moment: nothing is set there.
SELECT is_ours,
  CASE WHEN is_ours THEN ARRAY[
    set_config('lock_timeout', :lock, false), set_config('statement_timeout', :statement, false),
    set_config('idle_in_transaction_session_timeout', :idle, false),
    set_config('default_transaction_isolation', 'read committed', false),
    CASE WHEN current_setting('synchronous_commit') <> 'remote_apply'
      THEN set_config('synchronous_commit', 'on', false) END
  ] END,
  current_setting('fsync'), current_setting('full_page_writes'),
  current_setting('synchronous_commit'), current_setting('default_transaction_isolation'),
  pg_is_in_recovery(), to_regclass('recollect.revision') IS NOT NULL
FROM (SELECT pg_backend_pid() = :pid) connected (is_ours);

-- name: server_state
SELECT current_setting('server_version_num')::integer, pg_database_size(current_database()),
  pg_is_in_recovery(), current_setting('default_transaction_read_only') = 'on',
  coalesce(pg_last_wal_receive_lsn() <= pg_last_wal_replay_lsn(), false),
  extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::double precision;

-- name: timeline
-- The number that a promotion raises.
SELECT CASE WHEN pg_is_in_recovery() THEN 0
  ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer END;

-- name: patience
SET statement_timeout = 0;

-- name: stand_still
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY;

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
-- Where a ledger ends, what it has after an event, and the token that asks: one look, one state. With a process,
-- it also notes who looks.
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
  CASE WHEN :process::text IS NOT NULL
    THEN recollect.hold(s.id, :process, :called, :dropped, :lease_s, :alone) END,
  t.id, t.label, t.space, t.verbs, t.origin, t."user", t.agent, t.by, t.made, t.expires, t.revoked,
  t.revoked IS NULL AND (t.expires IS NULL OR t.expires > clock_timestamp())
FROM (SELECT 1) one
LEFT JOIN recollect.spaces s ON s.name = :name
LEFT JOIN recollect.tokens t ON t.hash = :hash::bytea;

-- name: lock_space
-- Writers that were late several times wait for their turn.
SELECT 1 FROM recollect.spaces WHERE id = :space FOR UPDATE;

-- name: append
SELECT recollect.append(
  :space, :head, :headed, :lines::bytea[], :hashed, :dated, :targets::bigint[], :subjects::text[]
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

-- name: wake
-- Notes that a process has an index of a space from now on, and reads the snapshot that it may begin with.
SELECT h.epoch, c.seq, c.image, CASE WHEN c.encrypted THEN coalesce(k.key, '') END
FROM (SELECT recollect.hold(:space, :process, :called, :dropped, :lease_s, :alone) AS epoch) h
LEFT JOIN recollect.snapshots c ON c.space = :space AND c.version = :version
LEFT JOIN recollect.cache_keys k ON k.space = :space;

-- name: hold
SELECT recollect.hold(:space, :process, :called, :dropped, :lease_s, :alone);

-- name: let_go
SELECT recollect.let_go(:process, :space::bigint, :alone);

-- name: holders
-- The other processes that have an index of a space: has it still what was erased, and does its row count no more?
SELECT h.name, coalesce(h.epoch < s.epoch, true), h.until < clock_timestamp()
FROM recollect.holders h LEFT JOIN recollect.spaces s ON s.id = h.space
WHERE h.space = :space AND h.process <> :process ORDER BY h.name;

-- name: all_holders
-- The processes that have something anywhere that was erased.
SELECT h.name, true, bool_and(h.until < clock_timestamp())
FROM recollect.holders h LEFT JOIN recollect.spaces s ON s.id = h.space
WHERE coalesce(h.epoch < s.epoch, true) GROUP BY h.process, h.name ORDER BY h.name;

-- name: remove_old_holders
DELETE FROM recollect.holders WHERE until < clock_timestamp() - interval '7 days';

-- name: cache_key
-- Must the caches of a space be encrypted, and with which key?
SELECT recollect.has_keys(s.id), k.key
FROM recollect.spaces s LEFT JOIN recollect.cache_keys k ON k.space = s.id
WHERE s.id = :space AND s.epoch = :epoch;

-- name: keep_cache_key
-- As a snapshot.
SELECT recollect.keep_cache_key(:space, :epoch, :key)
WHERE set_config('synchronous_commit', 'off', true) || set_config('lock_timeout', '1s', true) <> '';

-- name: keep_snapshot
-- A read may keep a cache, so this waits for no standby, and not for long for a writer. Never in a transaction
-- with an append.
SELECT recollect.keep_snapshot(:space, :epoch, :version, :seq, :image, :key::bytea)
WHERE set_config('synchronous_commit', 'off', true) || set_config('lock_timeout', '1s', true) <> '';

-- name: get_blocks
SELECT b.embedder, b.after, b.through, b.rows, CASE WHEN b.encrypted THEN coalesce(k.key, '') END
FROM recollect.blocks b LEFT JOIN recollect.cache_keys k ON k.space = b.space
WHERE b.space = :space AND b.embedder = :embedder AND b.after >= :after ORDER BY b.after;

-- name: blocks_holding
-- The blocks that an erasure removes: those with one of these texts, and all that are encrypted.
SELECT b.embedder, b.after, b.through, b.rows, CASE WHEN b.encrypted THEN coalesce(k.key, '') END
FROM recollect.blocks b LEFT JOIN recollect.cache_keys k ON k.space = b.space
WHERE b.space = :space AND (b.encrypted OR EXISTS (
  SELECT 1 FROM unnest(:targets::bigint[]) t WHERE t > b.after AND t <= b.through
));

-- name: keep_block
-- As a snapshot.
SELECT recollect.keep_block(:space, :epoch, :embedder, :after, :through, :rows, :key::bytea)
WHERE set_config('synchronous_commit', 'off', true) || set_config('lock_timeout', '1s', true) <> '';

-- name: clock
-- The server's clock, as an instant.
SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');

-- name: hold_space
-- A space by name that is not dropped before this transaction ends.
SELECT 1 FROM recollect.spaces WHERE name = :name FOR KEY SHARE;

-- name: add_token
INSERT INTO recollect.tokens (hash, label, space, verbs, origin, "user", agent, expires, by)
VALUES (
  :hash, :label, :space, :verbs, :trust, :user, :agent, :expires::timestamptz, :by
)
RETURNING id, label, space, verbs, origin, "user", agent, by, made, expires, revoked, true;

-- name: list_tokens
SELECT id, label, space, verbs, origin, "user", agent, by, made, expires, revoked,
  revoked IS NULL AND (expires IS NULL OR expires > clock_timestamp())
FROM recollect.tokens ORDER BY id;

-- name: named_tokens
SELECT id, label, space, verbs, origin, "user", agent, by, made, expires, revoked,
  revoked IS NULL AND (expires IS NULL OR expires > clock_timestamp())
FROM recollect.tokens WHERE label = :which OR id = :id::bigint ORDER BY id;

-- name: token_with_hash
SELECT id, label, space, verbs, origin, "user", agent, by, made, expires, revoked,
  revoked IS NULL AND (expires IS NULL OR expires > clock_timestamp())
FROM recollect.tokens WHERE hash = :hash;

-- name: lock_tokens
-- Two who rotate a token at the same time wait for each other; the second then sees what the first did.
SELECT id FROM recollect.tokens WHERE label = :which OR id = :id::bigint ORDER BY id FOR UPDATE;

-- name: end_token
-- An overlap does not prolong a token, and without one it is revoked.
UPDATE recollect.tokens SET
  expires = CASE WHEN :overlap_s = 0 THEN expires
    ELSE least(expires, now() + make_interval(secs => :overlap_s)) END,
  revoked = CASE WHEN :overlap_s = 0 THEN now() END
WHERE id = :id;

-- name: follow_token
-- A token like another one, for as long a life as that had, and no longer than who rotates it.
INSERT INTO recollect.tokens (hash, label, space, verbs, origin, "user", agent, made, expires, by)
SELECT :hash, label, space, verbs, origin, "user", agent, now(),
  least(now() + (expires - made), :until::timestamptz), :by::bigint
FROM recollect.tokens WHERE id = :id
RETURNING id, label, space, verbs, origin, "user", agent, by, made, expires, revoked, true;

-- name: revoke_token
UPDATE recollect.tokens SET revoked = clock_timestamp()
WHERE (label = :which OR id = :id::bigint) AND revoked IS NULL RETURNING id;

-- name: checkpoint_sizes
SELECT size FROM recollect.checkpoints WHERE space = :space AND size > 0 ORDER BY size;

-- name: get_checkpoint
SELECT note FROM recollect.checkpoints WHERE space = :space AND size = :size;

-- name: keep_checkpoint
-- Nothing is kept for a space that was dropped.
INSERT INTO recollect.checkpoints (space, size, note)
SELECT id, :size, :note FROM recollect.spaces WHERE id = :space FOR KEY SHARE
ON CONFLICT (space, size) DO UPDATE SET note = EXCLUDED.note RETURNING size;

-- name: any_subject
SELECT pseudonym, cipher, key, name, made FROM recollect.subject_keys WHERE space = :space LIMIT 1;

-- name: subjects_tagged
SELECT pseudonym, cipher, key, name, made FROM recollect.subject_keys
WHERE space = :space AND tag = :tag ORDER BY made, pseudonym;

-- name: get_subjects
SELECT pseudonym, cipher, key, name, made FROM recollect.subject_keys
WHERE space = :space AND pseudonym = ANY (:pseudonyms) ORDER BY pseudonym;

-- name: get_destroyed
SELECT pseudonym FROM recollect.destroyed_keys
WHERE space = :space AND pseudonym = ANY (:pseudonyms);

-- name: list_subjects
SELECT pseudonym, cipher, key, name, made FROM recollect.subject_keys WHERE space = :space
ORDER BY made, pseudonym;

-- name: list_destroyed
SELECT pseudonym, by FROM recollect.destroyed_keys WHERE space = :space ORDER BY at, pseudonym;

-- name: keep_subject
-- Nothing is kept for a space that was dropped, nor for a subject whose key was destroyed.
INSERT INTO recollect.subject_keys (space, pseudonym, cipher, tag, key, name, made)
SELECT s.id, :pseudonym, :cipher, :tag, :key, :name, :made
FROM recollect.spaces s WHERE s.id = :space AND NOT EXISTS (
  SELECT 1 FROM recollect.destroyed_keys d WHERE d.space = :space AND d.pseudonym = :pseudonym
)
FOR KEY SHARE OF s
ON CONFLICT (space, pseudonym) DO NOTHING RETURNING pseudonym;

-- name: note_destroyed
INSERT INTO recollect.destroyed_keys (space, pseudonym, at, by)
SELECT s.id, p, :at, :by FROM recollect.spaces s, unnest(:pseudonyms::text[]) p WHERE s.id = :space
ON CONFLICT (space, pseudonym) DO NOTHING;

-- name: destroy_subjects
DELETE FROM recollect.subject_keys WHERE space = :space AND pseudonym = ANY (:pseudonyms)
RETURNING pseudonym;
