-- Proposals, the branches they may stand on, and all that waits for a person.

-- name: get_proposal
SELECT * FROM proposals WHERE id = :id AND seq <= :at;

-- name: list_waiting
-- What waits for a person, the longest first: proposals, and records that are held.
SELECT unit, id, seq FROM (
  SELECT * FROM (
    SELECT 'proposal' AS unit, p.id, p.seq FROM proposals p
    WHERE p.seq > :after AND p.seq <= :at AND p.until > :at AND p.branch IS NULL
      AND (:user IS NULL OR p."user" = :user)
    ORDER BY p.seq LIMIT :limit
  ) AS proposed
  UNION ALL
  SELECT * FROM (
    SELECT 'record', v.id, v.seq FROM versions v
    WHERE v.status = 'held' AND v.seq > :after AND v.seq <= :at AND v.until > :at
      AND (:user IS NULL OR v."user" = :user)
    ORDER BY v.seq LIMIT :limit
  ) AS held
) AS waiting ORDER BY seq LIMIT :limit;

-- name: proposals_about
SELECT p.* FROM concerns c JOIN proposals p ON p.id = c.proposal
WHERE c.subject = :target AND p.target = :target AND p.seq <= :at AND p.until > :at
ORDER BY p.seq DESC;

-- name: proposals_made
SELECT id FROM proposals WHERE seq BETWEEN :first AND :last ORDER BY seq;

-- name: proposals_on
SELECT * FROM proposals WHERE branch = :branch AND seq <= :at ORDER BY seq;

-- name: proposal_events_of
SELECT p.seq, p.until, p.branch, p.changes FROM concerns c JOIN proposals p ON p.id = c.proposal
WHERE c.subject = :subject;

-- name: proposal_settled_by
SELECT id FROM proposals WHERE until = :seq AND until < 9007199254740991;

-- name: proposal_of_event
SELECT id FROM proposals WHERE seq = :seq;

-- name: get_branch
SELECT * FROM branches WHERE id = :id AND seq <= :at;

-- name: branches_named
SELECT * FROM branches WHERE name = :name AND seq <= :at ORDER BY seq DESC;

-- name: list_branches
SELECT * FROM branches
WHERE seq <= :at AND seq < :before AND (:closed = 1 OR until > :at)
  AND (:user IS NULL OR "user" = :user)
ORDER BY seq DESC LIMIT :limit;

-- name: branch_of_event
SELECT id FROM branches WHERE seq = :seq;

-- name: branch_closed_by
SELECT id FROM branches WHERE until = :seq AND until < 9007199254740991;
