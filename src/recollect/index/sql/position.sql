-- Where the index stands, how it was made, and the transactions around everything else.

-- name: get_position
SELECT version, space, seq, hash, at, active_us, "offset", purged FROM position;

-- name: known_head
-- Asked of indexes of any release: these columns have been in every schema and stay.
SELECT seq, hash, at FROM position;

-- name: put_position
INSERT INTO position (one, version, space, seq, hash, at, active_us, "offset", purged, mark)
VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, position_mark(?3, ?4, ?5, ?6));

-- name: move_position
UPDATE position SET seq = ?1, hash = ?2, at = ?3, active_us = ?4, "offset" = ?5,
  mark = position_mark(?1, ?2, ?3, ?4);

-- name: move_offset
UPDATE position SET "offset" = ?;

-- name: set_purged
UPDATE position SET purged = ?;

-- name: is_position_whole
-- False if a byte of the position changed since it was written: it proves nothing then.
SELECT mark = position_mark(seq, hash, at, active_us) FROM position;

-- name: get_stamp
SELECT active, sealed FROM position;

-- name: leave_active
UPDATE position SET active = ?;

-- name: leave_stamp
UPDATE position SET active = ?, sealed = ?;

-- name: get_made_with
SELECT tokens FROM made_with;

-- name: put_made_with
INSERT INTO made_with (one, tokens) VALUES (1, ?);

-- name: get_tables
-- Asked of any database.
SELECT name FROM sqlite_master WHERE type = 'table';

-- name: definitions
-- The tables, views and indexes as they were made; those that SQLite makes by itself have no text.
SELECT type, name, sql FROM main.sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name;

-- name: begin_read
BEGIN;

-- name: begin_write
BEGIN IMMEDIATE;

-- name: commit
COMMIT;

-- name: rollback
ROLLBACK;

-- name: savepoint
SAVEPOINT command;

-- name: release
RELEASE command;

-- name: rollback_to
ROLLBACK TO command;

-- name: copy_to
VACUUM INTO ?;

-- name: use_wal
PRAGMA journal_mode = WAL;
