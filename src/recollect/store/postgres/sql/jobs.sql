-- The jobs of a database. SQLite has the same in index/sql/jobs.sql. :only is the one space of a token, or NULL.
-- Nobody waits for another worker: a row that one holds is passed over. Nothing is added for a space that is
-- being dropped.

-- name: waiting
SELECT count(*) FROM recollect.jobs WHERE space = :space AND state = 'waiting';

-- name: ask
INSERT INTO recollect.jobs AS j (space, kind, params, state, asked_by, origin, asked_at, due_at)
SELECT s.name, :kind, :params, 'waiting', :by, :origin, :now, :due
FROM recollect.spaces s WHERE s.name = :space FOR KEY SHARE OF s
ON CONFLICT (space, kind, params) WHERE state = 'waiting' DO UPDATE SET
  due_at = least(j.due_at, EXCLUDED.due_at),
  (asked_by, origin) = (
    SELECT CASE WHEN higher THEN EXCLUDED.asked_by ELSE j.asked_by END,
      CASE WHEN higher THEN EXCLUDED.origin ELSE j.origin END
    FROM (SELECT strpos('unverified agent person', EXCLUDED.origin)
      > strpos('unverified agent person', j.origin) AS higher) _
  )
RETURNING j.*;

-- name: give_up
UPDATE recollect.jobs SET state = 'failed',
  error = CASE WHEN kind IN (SELECT jsonb_array_elements_text(:known::jsonb)) THEN 'gave_up'
    ELSE 'unknown_kind' END
WHERE id IN (
  SELECT id FROM recollect.jobs
  WHERE due_at <= :now AND space = coalesce(:only, space) AND (
    state = 'running' AND attempts >= :most
    OR state IN ('waiting', 'running')
      AND kind NOT IN (SELECT jsonb_array_elements_text(:known::jsonb))
  )
  ORDER BY id FOR UPDATE SKIP LOCKED
);

-- name: retake
UPDATE recollect.jobs SET attempts = attempts + 1, due_at = :until, done = 0, total = 0
WHERE id = (
  SELECT id FROM recollect.jobs
  WHERE state = 'running' AND due_at <= :now AND space = coalesce(:only, space)
    AND kind IN (SELECT jsonb_array_elements_text(:kinds::jsonb))
    AND strpos('unverified agent person', origin) <= strpos('unverified agent person', :origin)
  ORDER BY due_at, id LIMIT 1 FOR UPDATE SKIP LOCKED
)
RETURNING *;

-- name: lease
UPDATE recollect.jobs SET
  state = 'running', attempts = attempts + 1, due_at = :until, done = 0, total = 0
WHERE id = (
  SELECT id FROM recollect.jobs j
  WHERE state IN ('waiting', 'running') AND state = 'waiting' AND due_at <= :now
    AND space = coalesce(:only, space)
    AND kind IN (SELECT jsonb_array_elements_text(:kinds::jsonb))
    AND strpos('unverified agent person', origin) <= strpos('unverified agent person', :origin)
    AND NOT EXISTS (
      SELECT 1 FROM recollect.jobs r WHERE r.state = 'running' AND r.id <> j.id
        AND r.space = j.space AND r.kind = j.kind AND r.params = j.params
    )
  ORDER BY attempts = 0, due_at, id LIMIT 1 -- what was begun and failed comes first
  FOR UPDATE OF j SKIP LOCKED
)
RETURNING *;

-- name: report
UPDATE recollect.jobs SET
  state = CASE WHEN :state::text = 'waiting' AND EXISTS (
      SELECT 1 FROM recollect.jobs w WHERE w.state = 'waiting' AND w.space = jobs.space
        AND w.kind = jobs.kind AND w.params = jobs.params
    ) THEN 'failed' ELSE :state::text END,
  due_at = :due, done = greatest(done, :done), total = greatest(total, :total), error = :error
WHERE id = :id AND attempts = :attempts AND state = 'running' AND due_at > :now
  AND space = coalesce(:only, space)
  AND strpos('unverified agent person', origin) <= strpos('unverified agent person', :origin)
RETURNING id;

-- name: prune
DELETE FROM recollect.jobs WHERE space = :space AND kind = :kind
  AND state IN ('done', 'failed', 'cancelled') AND id NOT IN (
    SELECT id FROM recollect.jobs WHERE space = :space AND kind = :kind
      AND state IN ('done', 'failed', 'cancelled') ORDER BY id DESC LIMIT :kept
  );

-- name: list
SELECT * FROM recollect.jobs WHERE space = coalesce(:only, space) AND id = coalesce(:id, id)
  AND state = coalesce(:state, state) ORDER BY id DESC LIMIT :limit;

-- name: cancel
UPDATE recollect.jobs SET state = 'cancelled' WHERE id = :id AND state IN ('waiting', 'running')
  AND space = coalesce(:only, space)
  AND strpos('unverified agent person', origin) <= strpos('unverified agent person', :origin)
RETURNING id;

-- name: set_schedule
INSERT INTO recollect.schedules (space, kind, params, cron, every_s, set_by, next_at)
SELECT s.name, :kind, :params, :cron, :every_s, :set_by, :next_at
FROM recollect.spaces s WHERE s.name = :space FOR KEY SHARE OF s
ON CONFLICT (space, kind) DO UPDATE SET params = EXCLUDED.params, cron = EXCLUDED.cron,
  every_s = EXCLUDED.every_s, set_by = EXCLUDED.set_by, next_at = EXCLUDED.next_at;

-- name: schedules
SELECT * FROM recollect.schedules
WHERE space = coalesce(:only, space) AND next_at <= coalesce(:due, next_at) ORDER BY space, kind;

-- name: drop_schedule
DELETE FROM recollect.schedules WHERE space = :space AND kind = :kind RETURNING kind;

-- name: fire
UPDATE recollect.schedules SET next_at = :next WHERE space = :space AND kind = :kind
  AND next_at = :was AND next_at <= :now RETURNING set_by, params;
