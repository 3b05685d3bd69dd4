-- Episodes, and what hides one.

-- name: get_episode
SELECT e.*, (
  SELECT MIN(h.why) FROM hidden h WHERE h.episode = e.id AND h.seq <= :at AND h.until > :at
) AS hidden
FROM episodes e WHERE e.id = :id AND e.seq <= :at;

-- name: list_episodes
SELECT e.*, (
  SELECT MIN(h.why) FROM hidden h WHERE h.episode = e.id AND h.seq <= :at AND h.until > :at
) AS hidden
FROM episodes e WHERE e.seq <= :last AND TRUE /* filter: episode */
ORDER BY e.seq DESC LIMIT :limit;

-- name: episodes_after
-- What a rule has not looked at, in the order of the ledger.
SELECT e.*, (
  SELECT MIN(h.why) FROM hidden h WHERE h.episode = e.id AND h.seq <= :at AND h.until > :at
) AS hidden
FROM episodes e WHERE e.seq > :after AND e.seq <= :at AND TRUE /* filter: episode */
ORDER BY e.seq LIMIT :limit;

-- name: recent_episodes
-- The last said before an instant; among those of one instant, before an event.
SELECT e.*, (
  SELECT MIN(h.why) FROM hidden h WHERE h.episode = e.id AND h.seq <= :at AND h.until > :at
) AS hidden
FROM episodes e
WHERE (e.said_at, e.seq) < (:said_at, :seq) AND e.said_at >= :since AND e.seq <= :at
  AND TRUE /* filter: episode */
ORDER BY e.said_at DESC, e.seq DESC LIMIT :limit;

-- name: recent_sessions
-- Of the newest episodes in sessions: the first, and in how many sessions they are.
SELECT MIN(first), COUNT(*) FROM (
  SELECT MIN(seq) AS first FROM (
    SELECT seq, session, "user" FROM episodes
    WHERE session IS NOT NULL AND trust <> 'unverified' AND seq <= :at
    ORDER BY seq DESC LIMIT :limit
  ) AS recent GROUP BY session, "user"
) AS sessions;

-- name: episode_of_event
SELECT e.*, (
  SELECT MIN(h.why) FROM hidden h WHERE h.episode = e.id AND h.seq <= :at AND h.until > :at
) AS hidden
FROM episodes e WHERE e.seq = :seq;

-- name: episodes_of_texts
SELECT e.*, (
  SELECT MIN(h.why) FROM hidden h WHERE h.episode = e.id AND h.seq <= :at AND h.until > :at
) AS hidden
FROM episodes e WHERE e.seq IN (SELECT value FROM json_each(:seqs)) AND e.seq <= :at;

-- name: is_shadowed
SELECT 1 FROM hidden
WHERE episode = :episode AND why = 'shadowed' AND until = 9007199254740991 LIMIT 1;

-- name: forgotten_by
SELECT origin FROM hidden
WHERE episode = :episode AND why = 'forgotten' AND until = 9007199254740991;

-- name: hidden_events_of
SELECT seq, until FROM hidden WHERE episode = :episode AND why = 'forgotten';
