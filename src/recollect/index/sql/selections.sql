-- Whatever belongs to a person, a subject or a key, and everything: what an erasure takes.

-- name: records_about
SELECT id FROM versions
WHERE about = :about AND until = 9007199254740991
  AND (:user IS NULL OR "user" = :user)
ORDER BY seq;

-- name: records_expired
SELECT id FROM versions
WHERE expires < :before AND until = 9007199254740991
  AND (:user IS NULL OR "user" = :user)
ORDER BY seq;

-- name: records_of_user
SELECT id FROM versions WHERE "user" = :user AND until = 9007199254740991 ORDER BY seq;

-- name: episodes_of_user
SELECT id FROM episodes WHERE "user" = :user ORDER BY seq;

-- name: proposals_of_user
SELECT id FROM proposals WHERE "user" = :user ORDER BY seq;

-- name: proposals_of_about
SELECT id FROM proposals
WHERE about = :about AND (:user IS NULL OR "user" = :user) ORDER BY seq;

-- name: proposals_of_key
SELECT id FROM proposals
WHERE key = :key AND (:user IS NULL OR "user" = :user) ORDER BY seq;

-- name: branches_of_user
SELECT id FROM branches WHERE "user" = :user ORDER BY seq;

-- name: receipts_of_user
SELECT id FROM receipts WHERE "user" = :user ORDER BY seq;

-- name: every_record
SELECT id FROM versions WHERE until = 9007199254740991 ORDER BY seq;

-- name: every_episode
SELECT id FROM episodes ORDER BY seq;

-- name: every_proposal
SELECT id FROM proposals ORDER BY seq;

-- name: every_branch
SELECT id FROM branches ORDER BY seq;

-- name: every_receipt
SELECT id FROM receipts ORDER BY seq;
