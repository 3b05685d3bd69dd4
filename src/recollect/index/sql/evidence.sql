-- What rests on what, and whom that makes trusted.

-- name: evidence_of_record
SELECT DISTINCT episode FROM evidence WHERE record = :record ORDER BY episode;

-- name: evidence_of_words
SELECT episode, MAX(seq) FROM evidence
WHERE record = :record AND text_seq = :text_seq GROUP BY episode ORDER BY episode;

-- name: evidence_of_episode
SELECT e.seq AS tied, v.* FROM evidence e
JOIN full_versions v ON v.id = e.record AND v.text_seq = e.text_seq
WHERE e.episode = :episode ORDER BY v.id, v.seq, e.seq;

-- name: named_by
-- Which words of which records name something as evidence, and since when.
SELECT record, text_seq, MIN(seq) FROM evidence WHERE episode = :id GROUP BY record, text_seq;

-- name: named_at
SELECT seq FROM evidence
WHERE episode = ? AND record = ? AND text_seq = ? ORDER BY seq LIMIT 1;

-- name: last_named
SELECT MAX(seq) FROM evidence WHERE episode = ? AND record = ?;

-- name: get_resting
SELECT now FROM resting WHERE episode = :episode AND record = :record;

-- name: is_rested_on
SELECT 1 FROM resting WHERE episode = :episode AND now = 1 LIMIT 1;

-- name: derived_from
-- What has more than a certain trust and was derived from a record: its words name the record (see
-- index.rows.supports), or a trusted link says so. A review that let it in vouches for what it rested on;
-- what a person wrote is not lowered by what an agent captured.
SELECT e.record FROM evidence e
WHERE e.episode = :record AND e.seq > (SELECT MIN(a.seq) FROM versions a WHERE a.id = :record)
  AND (
    SELECT CASE WHEN v."user" IS NULL OR v."user" = :user THEN v.text_seq END
    FROM versions v WHERE v.id = e.record ORDER BY v.seq DESC LIMIT 1
  ) = e.text_seq
  AND (
    SELECT v.trust FROM versions v WHERE v.id = e.record ORDER BY v.seq DESC LIMIT 1
  ) NOT IN ('unverified', :above)
  AND COALESCE((
    SELECT v.status FROM versions v WHERE v.id = e.record AND v.seq > e.seq
      AND (v.what = 'reviewed' OR (v.what = 'vouched' AND :above = 'agent'))
    ORDER BY v.seq DESC LIMIT 1
  ), 'held') NOT IN ('active', 'inbox')
UNION ALL
SELECT l.source FROM links l
WHERE l.target = :record AND l.kind = 'derived_from' AND l.until = 9007199254740991
  AND l.trust <> 'unverified'
  AND (
    SELECT v.trust FROM versions v WHERE v.id = l.source ORDER BY v.seq DESC LIMIT 1
  ) NOT IN ('unverified', :above)
  AND COALESCE((
    SELECT v.status FROM versions v WHERE v.id = l.source AND v.seq > l.seq
      AND (v.what = 'reviewed' OR (v.what = 'vouched' AND :above = 'agent'))
    ORDER BY v.seq DESC LIMIT 1
  ), 'held') NOT IN ('active', 'inbox');

-- name: is_vouched
-- Whether a record, or one of the same user under a key, has ever had the trust of a person: it began
-- with it, or a person let it in or wrote it. Nothing else raises trust, so no other version has to be read.
SELECT 1 WHERE 'person' = (
  SELECT v.trust FROM versions v WHERE v.id = :id ORDER BY v.seq LIMIT 1
) OR EXISTS (
  SELECT 1 FROM versions v
  WHERE v.id = :id AND v.what IN ('reviewed', 'vouched') AND v.trust = 'person'
) OR EXISTS (
  SELECT 1 FROM versions v
  WHERE v.key = :key AND v.trust = 'person' AND v.what IN ('added', 'reviewed', 'vouched')
    AND v."user" IS :user
);

-- name: has_replaced
SELECT 1 FROM replaced LIMIT 1;

-- name: replaced_with
-- Of each of these words, the values of a user that were replaced last; those of the rarest words first.
SELECT token, text_seq, by FROM (
  SELECT r.token, r.text_seq, r.by, COUNT(*) OVER (PARTITION BY r.token) AS often
  FROM json_each(:tokens) t
  CROSS JOIN replaced r ON r.token = t.value AND r.text_seq <= :at AND r.text_seq > COALESCE((
    SELECT l.text_seq FROM replaced l JOIN versions u ON u.seq = l.text_seq
    WHERE l.token = t.value AND l.text_seq <= :at AND (:user IS NULL OR u."user" = :user)
    ORDER BY l.text_seq DESC LIMIT 1 OFFSET :each
  ), 0)
  JOIN versions v ON v.seq = r.text_seq
  WHERE :user IS NULL OR v."user" = :user
)
ORDER BY often, text_seq DESC, token, by LIMIT :limit;
