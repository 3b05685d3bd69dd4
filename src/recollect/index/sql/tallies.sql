-- How many there are, and were.

-- name: count_versions
SELECT CASE WHEN status = 'archived' AND reason = 'superseded' THEN reason ELSE status END AS state,
  COUNT(*)
FROM versions WHERE seq <= :at AND until > :at GROUP BY state ORDER BY state;

-- name: count_episodes
SELECT COUNT(*) FROM episodes WHERE seq <= :at;

-- name: count_shadowed
SELECT COUNT(*) FROM hidden WHERE why = 'shadowed' AND seq <= :at AND until > :at;

-- name: count_links
SELECT COUNT(*) FROM links WHERE seq <= :at AND until > :at;

-- name: count_versions_touched
-- This and the next three count what the events after a position touched, as it stood at `then`. The last
-- version of a record by then is the one that held.
SELECT CASE WHEN v.status = 'archived' AND v.reason = 'superseded' THEN v.reason ELSE v.status END
    AS state,
  COUNT(*) FROM (
  SELECT DISTINCT id FROM versions WHERE seq > :since AND seq <= :at
) AS t JOIN versions v ON v.id = t.id AND v.seq = (
  SELECT MAX(x.seq) FROM versions x WHERE x.id = t.id AND x.seq <= :then
) GROUP BY state ORDER BY state;

-- name: count_shadowed_touched
-- Only a record that an episode is evidence for casts its shadow, or lifts it.
SELECT COUNT(*) FROM (
  SELECT DISTINCT e.episode FROM versions v JOIN evidence e ON e.record = v.id
  WHERE v.seq > :since AND v.seq <= :at
) AS t JOIN hidden h ON h.episode = t.episode
WHERE h.why = 'shadowed' AND h.seq <= :then AND h.until > :then;

-- name: count_episodes_touched
SELECT COUNT(*) FROM episodes WHERE seq > :since AND seq <= :then;

-- name: count_links_touched
SELECT
  (SELECT COUNT(*) FROM links WHERE seq > :since AND seq <= :at AND seq <= :then AND until > :then)
  + (SELECT COUNT(*) FROM links
     WHERE until > :since AND until <= :at AND until < 9007199254740991 AND seq <= :since
       AND until > :then);

-- name: count_showing_records
SELECT COUNT(*) FROM versions v
WHERE v.seq <= :at AND v.until > :at AND v.status IN ('active', 'inbox')
  AND v.trust <> 'unverified' AND (v.expires IS NULL OR v.expires > :now)
  AND (v.valid_from IS NULL OR v.valid_from <= :now) AND (v.valid_to IS NULL OR v.valid_to > :now)
  AND TRUE /* filter: record */;

-- name: count_showing_episodes
SELECT COUNT(*) FROM episodes e
WHERE e.seq <= :at AND e.trust <> 'unverified' AND TRUE /* filter: episode */
  AND NOT EXISTS (
    SELECT 1 FROM hidden h WHERE h.episode = e.id AND h.seq <= :at AND h.until > :at
  );
