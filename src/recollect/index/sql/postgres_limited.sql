-- What a token for one user asks in place of the statements of the same name: where an answer rests on
-- what others have, a function of the owner's gives it, without what they say.

-- name: there
SELECT 'records', i FROM recollect.taken(ARRAY(SELECT json_array_elements_text(:records::json))) i
UNION SELECT 'episodes', i
FROM recollect.taken(ARRAY(SELECT json_array_elements_text(:episodes::json))) i
UNION SELECT 'contents', content_id FROM versions
WHERE :contents <> '[]' AND until = 9007199254740991
  AND content_id = ANY (ARRAY(SELECT json_array_elements_text(:contents::json)))
UNION SELECT 'keys', key FROM versions
WHERE :keys <> '[]' AND until = 9007199254740991
  AND key = ANY (ARRAY(SELECT json_array_elements_text(:keys::json)));

-- name: others_of
-- Which of these ids are another user's.
SELECT i.id FROM json_array_elements_text(:ids::json) i (id) WHERE recollect.is_others(i.id);

-- name: get_command
SELECT seq, first, id, marks, at, active_us FROM recollect.command_of(:id);

-- name: command_at
SELECT seq, first, id, marks, at, active_us FROM recollect.clock_at(:seq);

-- name: instants_of_events
SELECT s.value::bigint, recollect.event_at(s.value::bigint)
FROM json_array_elements_text(:seqs::json) s;

-- name: active_at_events
SELECT event, active_us
FROM recollect.active_at(ARRAY(SELECT json_array_elements_text(:seqs::json)::bigint));

-- name: evidence_of_episode
SELECT t.tied, /* columns: v before text */,
  COALESCE(v.text, (SELECT w.text FROM versions w WHERE w.seq = v.text_seq AND w.id = v.id)),
  /* columns: v after text */
FROM recollect.ties_of(:episode) t, LATERAL (SELECT (t.version).*) v;

-- name: derived_from
-- A link from another's record always counts: how much trust that record has is not for the user.
WITH ties AS MATERIALIZED (
  SELECT t.tied, (t.version).* FROM recollect.ties_of(:record) t
)
SELECT v.id FROM ties v
WHERE v.until = 9007199254740991 AND v.trust NOT IN ('unverified', :above)
  AND v.tied > (SELECT MIN(a.seq) FROM versions a WHERE a.id = :record)
  AND (v."user" IS NULL OR v."user" = :user)
  AND COALESCE((
    SELECT r.status FROM ties r WHERE r.id = v.id AND r.seq > v.tied
      AND (r.what = 'reviewed' OR (r.what = 'vouched' AND CAST(:above AS text) = 'agent'))
    ORDER BY r.seq DESC LIMIT 1
  ), 'held') NOT IN ('active', 'inbox')
UNION ALL
SELECT l.source FROM links l
WHERE l.target = :record AND l.kind = 'derived_from' AND l.until = 9007199254740991
  AND l.trust <> 'unverified'
  AND COALESCE((
    SELECT v.trust FROM versions v WHERE v.id = l.source ORDER BY v.seq DESC LIMIT 1
  ), 'person') NOT IN ('unverified', :above)
  AND COALESCE((
    SELECT v.status FROM versions v WHERE v.id = l.source AND v.seq > l.seq
      AND (v.what = 'reviewed' OR (v.what = 'vouched' AND CAST(:above AS text) = 'agent'))
    ORDER BY v.seq DESC LIMIT 1
  ), 'held') NOT IN ('active', 'inbox');

-- name: named_by
SELECT (t.version).id, (t.version).text_seq, MIN(t.tied) FROM recollect.ties_of(:id) t GROUP BY 1, 2;

-- name: blank_command
SELECT recollect.blank_command(LEAST(?, ?));

-- name: author_of_event
SELECT a.id, a.name, a.checked, a."user", a.seq, c.author
FROM (SELECT recollect.event_author(:seq) AS author) c LEFT JOIN authors a ON a.id = c.author
ORDER BY a.seq LIMIT 1;

-- name: set_purged
SELECT recollect.note_purged(?);

-- name: count_holding
SELECT recollect.count_holding('recallable', :term);

-- name: sessions_holding
SELECT recollect.sessions_holding(:term, :first);

-- name: recent_sessions
SELECT first, sessions FROM recollect.recent_sessions(:at, :limit);

-- name: match
WITH terms AS MATERIALIZED (
  SELECT t.token, t.n, recollect.count_holding(:shelf, t.token)::double precision AS hits
  FROM json_array_elements_text(:terms::json) WITH ORDINALITY t (token, n)
), weights AS MATERIALIZED (
  SELECT t.token, t.n, GREATEST(s.tokens, 1)::double precision / s.docs::double precision AS average,
    GREATEST(
      LN(
        (GREATEST(s.docs::double precision - t.hits, 0::double precision) + 0.5::double precision)
        / (t.hits + 0.5::double precision)
      ),
      1e-6::double precision
    ) AS weight
  FROM terms t, shelves s WHERE s.shelf = :shelf AND s.docs > 0
)
SELECT p.doc, -1.0::double precision * SUM(
  w.weight * (
    (p.times::double precision * 2.2::double precision)
    / (p.times::double precision + 1.2::double precision * (
      0.25::double precision
      + 0.75::double precision * p.length::double precision / w.average
    ))
  ) ORDER BY w.n
) AS rank
FROM weights w JOIN recollect.own_postings(
  :shelf, ARRAY(SELECT json_array_elements_text(:terms::json))
) p ON p.token = w.token
GROUP BY p.doc ORDER BY rank, p.doc DESC LIMIT :limit;

-- name: nearest
SELECT seq, score FROM recollect.own_nearest(:row::text, :embedder, :limit);
