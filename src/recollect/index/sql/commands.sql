-- Commands, who acted in them, the receipts of what was handed out, and what was erased.

-- name: get_command
SELECT seq, first, id, marks, at, active_us FROM commands WHERE id = :id
ORDER BY seq LIMIT 1;

-- name: command_at
SELECT seq, first, id, marks, at, active_us FROM commands
WHERE seq <= :seq ORDER BY seq DESC LIMIT 1;

-- name: command_of_event
SELECT seq, first, id, marks, at, active_us FROM commands
WHERE seq >= :seq ORDER BY seq LIMIT 1;

-- name: instants_of_events
SELECT s.value, (SELECT c.at FROM commands c WHERE c.seq >= s.value ORDER BY c.seq LIMIT 1)
FROM json_each(:seqs) s;

-- name: active_at_events
SELECT s.value, c.active_us FROM json_each(:seqs) s
JOIN commands c ON c.seq = (SELECT MIN(k.seq) FROM commands k WHERE k.seq >= s.value);

-- name: subjects_of_events
SELECT id, what FROM (
  SELECT id, what, seq FROM versions WHERE seq BETWEEN :first AND :last AND what <> 'superseded'
  UNION ALL
  SELECT id, 'added', seq FROM episodes WHERE seq BETWEEN :first AND :last
  UNION ALL
  SELECT id, 'added', opened FROM sessions
  WHERE opened BETWEEN :first AND :last AND opened < 9007199254740991
  UNION ALL
  SELECT id, 'added', seq FROM branches WHERE seq BETWEEN :first AND :last
) AS subjects ORDER BY seq;

-- name: get_author
SELECT id, name, checked, "user", seq FROM authors WHERE id = :id ORDER BY seq LIMIT 1;

-- name: namings_of
SELECT id, name, checked, "user", seq FROM authors WHERE id = :id ORDER BY seq;

-- name: authors_named
SELECT id, name, checked, "user", seq FROM authors a
WHERE name = :name AND NOT EXISTS (SELECT 1 FROM authors b WHERE b.id = a.id AND b.seq < a.seq)
ORDER BY seq;

-- name: authors_of_user
SELECT id, name, checked, "user", seq FROM authors a
WHERE "user" = :user AND NOT EXISTS (SELECT 1 FROM authors b WHERE b.id = a.id AND b.seq < a.seq)
ORDER BY seq;

-- name: author_of_event
-- Who acted in the command that holds an event: the next that ends.
SELECT a.id, a.name, a.checked, a."user", a.seq, c.author
FROM (
  SELECT k.author FROM commands k WHERE k.seq >= :seq ORDER BY k.seq LIMIT 1
) c LEFT JOIN authors a ON a.id = c.author
ORDER BY a.seq LIMIT 1;

-- name: get_receipt
SELECT * FROM receipts WHERE id = :id AND seq <= :at;

-- name: count_receipts
SELECT COUNT(*) FROM receipts WHERE seq > :after AND seq <= :through;

-- name: list_receipts
SELECT * FROM receipts WHERE seq <= :last ORDER BY seq DESC LIMIT :limit;

-- name: get_erased
SELECT by FROM erased WHERE seq = :seq;

-- name: events_erased_by
SELECT seq FROM erased WHERE by = :by ORDER BY seq;

-- name: erased_between
SELECT seq FROM erased WHERE seq > :after AND seq <= :through;

-- name: has_unfinished_erasures
SELECT 1 FROM erased WHERE by > ? LIMIT 1;

-- name: unfinished_erasures
SELECT e.seq, e.by FROM erased e WHERE e.by > (SELECT purged FROM position) ORDER BY e.seq;

-- name: has_erased_since
SELECT 1 FROM erased WHERE seq <= :seq AND by > :seq LIMIT 1;
