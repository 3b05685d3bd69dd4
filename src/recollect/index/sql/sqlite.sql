-- Statements that only SQLite runs: full text and lists of parameters.

-- name: get_tables
-- Asked of any database.
SELECT name FROM sqlite_master WHERE type = 'table';

-- name: get_made_with
SELECT tokens FROM made_with;

-- name: put_made_with
INSERT INTO made_with (one, tokens) VALUES (1, ?);

-- name: put_position
INSERT INTO position (one, version, space, seq, hash, at, active_us, "offset", purged, mark)
VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, position_mark(?3, ?4, ?5, ?6));

-- name: move_position
UPDATE position SET seq = ?1, hash = ?2, at = ?3, active_us = ?4, "offset" = ?5,
  mark = position_mark(?1, ?2, ?3, ?4);

-- name: is_position_whole
-- False if a byte of the position changed since it was written: it proves nothing then.
SELECT mark = position_mark(seq, hash, at, active_us) FROM position;

-- name: get_stamp
SELECT active, sealed FROM position;

-- name: leave_active
UPDATE position SET active = ?;

-- name: leave_stamp
UPDATE position SET active = ?, sealed = ?;

-- name: check_recallable
-- The check of full text itself: an error if it finds something.
INSERT INTO recallable (recallable) VALUES ('integrity-check');

-- name: check_rest
INSERT INTO rest (rest) VALUES ('integrity-check');

-- name: definitions
-- The tables, views and indexes as they were made; those that SQLite makes by itself have no text.
SELECT type, name, sql FROM main.sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name;

-- name: show_words_recallable
CREATE VIRTUAL TABLE temp.words_recallable USING fts5vocab (main, recallable, instance);

-- name: show_words_rest
CREATE VIRTUAL TABLE temp.words_rest USING fts5vocab (main, rest, instance);

-- name: words_recallable
SELECT term, doc, "offset" FROM temp.words_recallable;

-- name: words_rest
SELECT term, doc, "offset" FROM temp.words_rest;

-- name: kept_recallable
SELECT id, c0, c1 FROM recallable_content ORDER BY id;

-- name: sizes_recallable
SELECT id, sz FROM recallable_docsize ORDER BY id;

-- name: sizes_rest
SELECT id, sz FROM rest_docsize ORDER BY id;

-- name: totals_recallable
SELECT block FROM recallable_data WHERE id = 1;

-- name: totals_rest
SELECT block FROM rest_data WHERE id = 1;

-- name: shelve_recallable
INSERT INTO recallable (rowid, tokens, facts) VALUES (?, ?, ?);

-- name: shelve_rest
INSERT INTO rest (rowid, tokens) VALUES (?, ?);

-- name: unshelve_recallable
-- It has its own copy of the tokens, so those that are given are not needed.
DELETE FROM recallable WHERE rowid = ? AND ? IS NOT NULL;

-- name: unshelve_rest
INSERT INTO rest (rest, rowid, tokens) VALUES ('delete', ?, ?);

-- name: match_recallable
SELECT rowid, rank FROM recallable WHERE recallable MATCH :query
ORDER BY rank, rowid DESC LIMIT :limit;

-- name: match_recallable_of_user
SELECT rowid, rank FROM recallable WHERE recallable MATCH :query
  AND EXISTS (
    SELECT 1 FROM versions v WHERE v.seq = recallable.rowid AND v."user" = :user
    UNION ALL
    SELECT 1 FROM episodes e WHERE e.seq = recallable.rowid AND e."user" = :user
  )
ORDER BY rank, rowid DESC LIMIT :limit;

-- name: match_rest
SELECT rowid, rank FROM rest WHERE rest MATCH :query
ORDER BY rank, rowid DESC LIMIT :limit;

-- name: match_rest_of_user
SELECT rowid, rank FROM rest WHERE rest MATCH :query
  AND EXISTS (
    SELECT 1 FROM versions v WHERE v.seq = rest.rowid AND v."user" = :user
    UNION ALL
    SELECT 1 FROM episodes e WHERE e.seq = rest.rowid AND e."user" = :user
  )
ORDER BY rank, rowid DESC LIMIT :limit;

-- name: shelf_totals
-- What full text keeps for its own BM25: how many texts there are and how many tokens they have,
-- two variable-length integers.
SELECT block FROM recallable_data WHERE id = 1;

-- name: count_holding
SELECT COUNT(*) FROM recallable WHERE recallable MATCH :query;

-- name: sessions_holding
SELECT COUNT(*) FROM (
  SELECT DISTINCT e.session, e."user" FROM recallable r CROSS JOIN episodes e ON e.seq = r.rowid
  WHERE r.recallable MATCH :query AND r.rowid >= :first
    AND e.session IS NOT NULL AND e.trust <> 'unverified'
) AS sessions;

-- name: sessions_of_texts
SELECT COUNT(*) FROM (
  SELECT DISTINCT e.session, e."user" FROM episodes e
  WHERE e.seq IN (SELECT value FROM json_each(:seqs))
    AND e.session IS NOT NULL AND e.trust <> 'unverified'
) AS sessions;

-- name: neighbours_of_texts
SELECT e.seq, (
  SELECT MAX(b.seq) FROM episodes b
  WHERE b.session = e.session AND COALESCE(b."user", '') = COALESCE(e."user", '') AND b.seq < e.seq
    AND b.session IS NOT NULL AND b.trust <> 'unverified'
) AS before, (
  SELECT MIN(a.seq) FROM episodes a
  WHERE a.session = e.session AND COALESCE(a."user", '') = COALESCE(e."user", '') AND a.seq > e.seq
    AND a.seq <= :at AND a.session IS NOT NULL AND a.trust <> 'unverified'
) AS after
FROM episodes e WHERE e.seq IN (SELECT value FROM json_each(:seqs)) AND e.session IS NOT NULL;

-- name: list_versions
SELECT v.* FROM full_versions v
WHERE v.seq <= :last AND v.until > :at -- one bound: of two, the engine would walk from either
  AND v.status IN (SELECT value FROM json_each(:statuses))
  AND (:user IS NULL OR v."user" = :user)
  AND TRUE /* filter: record */
ORDER BY v.seq DESC LIMIT :limit;

-- name: cards_of_texts
-- Of records that were not changed since they got their text. Tokens and facts are those of now.
SELECT /* columns: card of v and t */
FROM json_each(:seqs) s CROSS JOIN full_versions v ON v.seq = s.value
LEFT JOIN recallable_content t ON t.id = v.seq AND :at + 1 = 9007199254740991
WHERE v.seq = v.text_seq AND v.seq <= :at AND v.until > :at;

-- name: cards_of_episodes
SELECT e.id, e.seq, e.seq AS text_seq, e.text, t.c0 AS tokens, t.c1 AS facts, e.role, e."user", e.session, e.said_at, e.at,
  e.trust, e.transient, CASE WHEN t.id IS NULL THEN ( -- what is recallable now is not hidden
    SELECT MIN(h.why) FROM hidden h WHERE h.episode = e.id AND h.seq <= :at AND h.until > :at
  ) END AS hidden
FROM json_each(:seqs) s CROSS JOIN episodes e ON e.seq = s.value
LEFT JOIN recallable_content t ON t.id = e.seq AND :at + 1 = 9007199254740991
WHERE e.seq <= :at;

-- name: cards_of_changed_texts
SELECT /* columns: card of v */
FROM json_each(:seqs) s
JOIN versions d ON d.seq = s.value
JOIN full_versions v ON v.text_seq = d.seq AND v.seq = (
  SELECT MAX(l.seq) FROM versions l WHERE l.id = d.id AND l.seq <= :at
)
WHERE v.until > :at;

-- name: versions_of_events
SELECT v.* FROM json_each(:seqs) s CROSS JOIN full_versions v ON v.seq = s.value;

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

-- name: last_cards_of_texts
-- The one before that with the next text: the versions of one text follow each other.
SELECT /* columns: card of v */
FROM json_each(:seqs) s
JOIN versions d ON d.seq = s.value AND d.seq <= :at
JOIN full_versions v ON v.seq = (
  SELECT MAX(l.seq) FROM versions l
  WHERE l.id = d.id AND l.seq <= :at AND l.seq < COALESCE((
    SELECT n.seq FROM versions n WHERE n.id = d.id AND n.seq > d.seq AND n.text_seq <> d.seq
    ORDER BY n.seq LIMIT 1
  ), 9007199254740991)
);

-- name: episodes_of_texts
SELECT e.*, (
  SELECT MIN(h.why) FROM hidden h WHERE h.episode = e.id AND h.seq <= :at AND h.until > :at
) AS hidden
FROM episodes e WHERE e.seq IN (SELECT value FROM json_each(:seqs)) AND e.seq <= :at;

-- name: records_about_any
SELECT v.* FROM full_versions v
WHERE v.about IN (SELECT value FROM json_each(:abouts))
  AND v.until = 9007199254740991 AND v.about IS NOT NULL AND v.status IN ('active', 'archived');

-- name: first_about
-- The oldest record that pages show.
SELECT v.* FROM full_versions v
WHERE v.about IN (SELECT value FROM json_each(:abouts))
  AND v.until = 9007199254740991 AND v.about IS NOT NULL
  AND (v.status = 'active' OR (
    v.status = 'archived' AND (v.superseded_by IS NOT NULL OR v.reason = 'refuted')
  ))
  AND (:user IS NULL OR v."user" = :user)
ORDER BY v.created_at, v.id LIMIT 1;

-- name: any_superseded_by
SELECT id FROM versions
WHERE superseded_by IN (SELECT value FROM json_each(:ids)) AND superseded_by IS NOT NULL
  AND until = 9007199254740991;

-- name: trusted_links_of
SELECT source, target, kind, seq, until, weight, trust, at, reinforcement_count, name
FROM links
WHERE (
    source IN (SELECT value FROM json_each(:ids)) OR target IN (SELECT value FROM json_each(:ids))
  )
  AND trust <> 'unverified' AND seq <= :at AND until > :at
ORDER BY seq;

-- name: links_around
-- The newest links of each of these records to what may be shown, in their order.
SELECT l.source, l.target, l.kind, l.seq, l.until, l.weight, l.trust, l.at, l.reinforcement_count,
  l.name
FROM (
  SELECT s.key AS place, n.seq AS seq FROM json_each(:ids) s CROSS JOIN links n
  WHERE :outward > 0 AND n.seq IN (
    SELECT o.seq FROM links o
    WHERE o.source = s.value AND o.seq <= :at AND o.until > :at AND o.trust <> :without
      AND (:every > 0 OR o.kind IN (SELECT value FROM json_each(:kinds)))
      AND (o.target IN (SELECT value FROM json_each(:ends)) OR (
        SELECT /* columns: why v is hidden */
        FROM versions v WHERE v.id = o.target AND v.seq <= :at ORDER BY v.seq DESC LIMIT 1
      ) IN (SELECT value FROM json_each(:words)))
    ORDER BY o.seq DESC LIMIT :limit
  )
  UNION ALL
  SELECT s.key AS place, n.seq AS seq FROM json_each(:ids) s CROSS JOIN links n
  WHERE :inward > 0 AND n.seq IN (
    SELECT i.seq FROM links i
    WHERE i.target = s.value AND i.seq <= :at AND i.until > :at AND i.trust <> :without
      AND (:every > 0 OR i.kind IN (SELECT value FROM json_each(:kinds)))
      AND (i.source IN (SELECT value FROM json_each(:ends)) OR (
        SELECT /* columns: why v is hidden */
        FROM versions v WHERE v.id = i.source AND v.seq <= :at ORDER BY v.seq DESC LIMIT 1
      ) IN (SELECT value FROM json_each(:words)))
    ORDER BY i.seq DESC LIMIT :limit
  )
) AS found CROSS JOIN links l ON l.seq = found.seq
ORDER BY found.place, found.seq DESC;

-- name: versions_of_ids
SELECT v.* FROM json_each(:ids) s CROSS JOIN full_versions v ON v.seq = (
  SELECT MAX(m.seq) FROM versions m WHERE m.id = s.value AND m.seq <= :at
);

-- name: instants_of_events
SELECT s.value, (SELECT c.at FROM commands c WHERE c.seq >= s.value ORDER BY c.seq LIMIT 1)
FROM json_each(:seqs) s;

-- name: active_at_events
SELECT s.value, c.active_us FROM json_each(:seqs) s
JOIN commands c ON c.seq = (SELECT MIN(k.seq) FROM commands k WHERE k.seq >= s.value);

-- name: merge_recallable
INSERT INTO recallable (recallable) VALUES ('optimize');

-- name: vacuum
VACUUM;

-- name: merge_rest
INSERT INTO rest (rest) VALUES ('optimize');

-- name: begin_write
BEGIN IMMEDIATE;

-- name: copy_to
VACUUM INTO ?;

-- name: use_wal
PRAGMA journal_mode = WAL;

-- name: there
-- Which of these names exist, before many acts are decided at once.
SELECT 'records', value FROM json_each(:records)
WHERE EXISTS (SELECT 1 FROM versions WHERE id = value)
UNION ALL SELECT 'episodes', value FROM json_each(:episodes)
WHERE EXISTS (SELECT 1 FROM episodes WHERE id = value)
UNION ALL SELECT 'contents', value FROM json_each(:contents)
WHERE EXISTS (SELECT 1 FROM versions WHERE content_id = value AND until = 9007199254740991)
UNION ALL SELECT 'keys', value FROM json_each(:keys)
WHERE EXISTS (SELECT 1 FROM versions WHERE key = value AND until = 9007199254740991);

-- name: holder
SELECT * FROM full_versions
WHERE key = :key AND until = 9007199254740991 AND status = 'active' AND "user" IS :user;

-- name: about_now
-- The last records about something.
SELECT id FROM versions
WHERE about = :about AND until = 9007199254740991 AND status = 'active' AND "user" IS :user
ORDER BY seq DESC LIMIT :limit;

-- name: is_there
-- Whether a record ever had this id, and whether one has this content now.
SELECT EXISTS (SELECT 1 FROM versions WHERE id = ?1),
  EXISTS (SELECT 1 FROM versions WHERE content_id = ?2 AND until = 9007199254740991);

-- name: twins
-- The first is enough.
SELECT id FROM full_versions
WHERE content_id = :content_id AND until = 9007199254740991 AND status = 'active'
  AND trust <> 'unverified' AND text = :text AND "user" IS :user
ORDER BY id LIMIT 1;
