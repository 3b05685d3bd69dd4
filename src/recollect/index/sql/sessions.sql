-- Sessions.

-- name: sessions_named
SELECT * FROM sessions WHERE id = :id AND seq <= :at ORDER BY "user";

-- name: list_sessions
SELECT * FROM sessions WHERE seq <= :last ORDER BY seq DESC LIMIT :limit;

-- name: list_sessions_of_user
SELECT * FROM sessions WHERE "user" = :user AND seq <= :last ORDER BY seq DESC LIMIT :limit;

-- name: open_session_now
SELECT * FROM sessions WHERE opened < 9007199254740991 AND closed = 9007199254740991
ORDER BY opened DESC LIMIT 1;

-- name: open_session_of_user_now
SELECT * FROM sessions
WHERE "user" = :user AND opened < 9007199254740991 AND closed = 9007199254740991
ORDER BY opened DESC LIMIT 1;

-- name: open_session_at
SELECT * FROM sessions
WHERE opened < 9007199254740991 AND opened <= :at AND closed > :at
  AND (:user IS NULL OR "user" = :user)
ORDER BY opened DESC LIMIT 1;

-- name: sessions_opened
SELECT * FROM sessions WHERE opened < 9007199254740991 ORDER BY seq;

-- name: sessions_opened_by
SELECT * FROM sessions WHERE "user" = :user AND opened < 9007199254740991 ORDER BY seq;

-- name: session_of_event
SELECT * FROM sessions WHERE seq = :seq
  OR (opened = :seq AND opened < 9007199254740991) OR (closed = :seq AND opened < 9007199254740991);

-- name: first_in_session
-- The first of the records, episodes and receipts that name a session, or its opening.
SELECT MIN(seq) FROM (
  SELECT MIN(seq) AS seq FROM episodes WHERE session = :id AND COALESCE("user", '') = :user
  UNION ALL
  SELECT MIN(seq) FROM versions WHERE session = :id AND COALESCE("user", '') = :user
  UNION ALL
  SELECT MIN(seq) FROM receipts WHERE session = :id AND COALESCE("user", '') = :user
  UNION ALL
  SELECT opened FROM sessions WHERE id = :id AND "user" = :user
) AS named;
