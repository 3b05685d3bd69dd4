-- The jobs of a workspace of files, in a database of their own.
-- A running job is due again when its lease ends. :only is the one space of a token, or NULL.

-- name: begin
BEGIN IMMEDIATE;

-- name: schema
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS jobs (
  id INTEGER PRIMARY KEY AUTOINCREMENT, space TEXT NOT NULL, kind TEXT NOT NULL,
  params TEXT NOT NULL, state TEXT NOT NULL, asked_by INTEGER, origin TEXT NOT NULL,
  asked_at TEXT NOT NULL, due_at TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
  done INTEGER NOT NULL DEFAULT 0, total INTEGER NOT NULL DEFAULT 0, error TEXT
);
CREATE UNIQUE INDEX IF NOT EXISTS jobs_waiting ON jobs (space, kind, params) WHERE state = 'waiting';
CREATE UNIQUE INDEX IF NOT EXISTS jobs_running ON jobs (space, kind, params) WHERE state = 'running';
DROP INDEX IF EXISTS jobs_due;
CREATE INDEX IF NOT EXISTS jobs_next ON jobs (attempts = 0, due_at, id)
  WHERE state IN ('waiting', 'running');
CREATE INDEX IF NOT EXISTS jobs_ended ON jobs (space, kind, id)
  WHERE state IN ('done', 'failed', 'cancelled');
CREATE TABLE IF NOT EXISTS schedules (
  space TEXT NOT NULL, kind TEXT NOT NULL, params TEXT NOT NULL, cron TEXT, every_s INTEGER,
  set_by INTEGER, next_at TEXT NOT NULL, PRIMARY KEY (space, kind)
);
COMMIT;

-- name: waiting
SELECT count(*) FROM jobs WHERE space = :space AND state = 'waiting';

-- name: ask
INSERT INTO jobs (space, kind, params, state, asked_by, origin, asked_at, due_at)
VALUES (:space, :kind, :params, 'waiting', :by, :origin, :now, :due)
ON CONFLICT (space, kind, params) WHERE state = 'waiting' DO UPDATE SET
  due_at = min(due_at, excluded.due_at),
  (asked_by, origin) = (
    SELECT CASE WHEN higher THEN excluded.asked_by ELSE jobs.asked_by END,
      CASE WHEN higher THEN excluded.origin ELSE jobs.origin END
    FROM (SELECT instr('unverified agent person', excluded.origin)
      > instr('unverified agent person', jobs.origin) AS higher)
  )
RETURNING *;

-- name: give_up
UPDATE jobs SET state = 'failed',
  error = CASE WHEN kind IN (SELECT value FROM json_each(:known)) THEN 'gave_up' ELSE 'unknown_kind' END
WHERE due_at <= :now AND space = coalesce(:only, space) AND (
  state = 'running' AND attempts >= :most
  OR state IN ('waiting', 'running') AND kind NOT IN (SELECT value FROM json_each(:known))
);

-- name: retake
UPDATE jobs SET attempts = attempts + 1, due_at = :until, done = 0, total = 0
WHERE id = (
  SELECT id FROM jobs
  WHERE state = 'running' AND due_at <= :now AND space = coalesce(:only, space)
    AND kind IN (SELECT value FROM json_each(:kinds))
    AND instr('unverified agent person', origin) <= instr('unverified agent person', :origin)
  ORDER BY due_at, id LIMIT 1
)
RETURNING *;

-- name: lease
UPDATE jobs SET state = 'running', attempts = attempts + 1, due_at = :until, done = 0, total = 0
WHERE id = (
  SELECT id FROM jobs AS j
  WHERE state IN ('waiting', 'running') AND state = 'waiting' AND due_at <= :now
    AND space = coalesce(:only, space) AND kind IN (SELECT value FROM json_each(:kinds))
    AND instr('unverified agent person', origin) <= instr('unverified agent person', :origin)
    AND NOT EXISTS (
      SELECT 1 FROM jobs AS r WHERE r.state = 'running' AND r.id <> j.id
        AND r.space = j.space AND r.kind = j.kind AND r.params = j.params
    )
  ORDER BY attempts = 0, due_at, id LIMIT 1 -- what was begun and failed comes first
)
RETURNING *;

-- name: report
UPDATE jobs SET
  state = CASE WHEN :state = 'waiting' AND EXISTS (
      SELECT 1 FROM jobs AS w WHERE w.state = 'waiting' AND w.space = jobs.space
        AND w.kind = jobs.kind AND w.params = jobs.params
    ) THEN 'failed' ELSE :state END,
  due_at = :due, done = max(done, :done), total = max(total, :total), error = :error
WHERE id = :id AND attempts = :attempts AND state = 'running' AND due_at > :now
  AND space = coalesce(:only, space)
  AND instr('unverified agent person', origin) <= instr('unverified agent person', :origin)
RETURNING id;

-- name: prune
DELETE FROM jobs WHERE space = :space AND kind = :kind
  AND state IN ('done', 'failed', 'cancelled') AND id NOT IN (
    SELECT id FROM jobs WHERE space = :space AND kind = :kind
      AND state IN ('done', 'failed', 'cancelled') ORDER BY id DESC LIMIT :kept
  );

-- name: list
SELECT * FROM jobs WHERE space = coalesce(:only, space) AND id = coalesce(:id, id)
  AND state = coalesce(:state, state) ORDER BY id DESC LIMIT :limit;

-- name: cancel
UPDATE jobs SET state = 'cancelled' WHERE id = :id AND state IN ('waiting', 'running')
  AND space = coalesce(:only, space)
  AND instr('unverified agent person', origin) <= instr('unverified agent person', :origin)
RETURNING id;

-- name: set_schedule
INSERT OR REPLACE INTO schedules VALUES (
  :space, :kind, :params, :cron, :every_s, :set_by, :next_at
);

-- name: schedules
SELECT * FROM schedules WHERE space = coalesce(:only, space) AND next_at <= coalesce(:due, next_at)
ORDER BY space, kind;

-- name: drop_schedule
DELETE FROM schedules WHERE space = :space AND kind = :kind RETURNING kind;

-- name: fire
UPDATE schedules SET next_at = :next WHERE space = :space AND kind = :kind AND next_at = :was
  AND next_at <= :now RETURNING set_by, params;

-- name: drop_jobs
DELETE FROM jobs WHERE space = :space;

-- name: drop_schedules
DELETE FROM schedules WHERE space = :space;
