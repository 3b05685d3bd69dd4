-- Full text, the cards of what it finds, and its own checks.

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

-- name: turns_of_texts
-- Of the session of each of these episodes: how many trusted turns it has, counted up to a number.
SELECT e.seq, (
  SELECT COUNT(*) FROM (
    SELECT 1 FROM episodes b
    WHERE b.session = e.session AND COALESCE(b."user", '') = COALESCE(e."user", '')
      AND b.seq <= :at AND b.session IS NOT NULL AND b.trust <> 'unverified'
    LIMIT :most
  )
) AS turns
FROM episodes e WHERE e.seq IN (SELECT value FROM json_each(:seqs)) AND e.session IS NOT NULL;

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
SELECT /* columns: card of v and t */
FROM json_each(:seqs) s
JOIN versions d ON d.seq = s.value
JOIN full_versions v ON v.text_seq = d.seq AND v.seq = (
  SELECT MAX(l.seq) FROM versions l WHERE l.id = d.id AND l.seq <= :at
)
LEFT JOIN recallable_content t ON t.id = d.seq AND :at + 1 = 9007199254740991
WHERE v.until > :at;

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

-- name: texts_recallable
-- What stood on the recallable shelf at a position, and whose it was: of a record its text, key,
-- subject and tags.
SELECT v.text_seq,
  v.text || ' ' || COALESCE(v.key, '') || ' ' || COALESCE(v.about, '') || ' ' || v.tags,
  v."user"
FROM full_versions v
WHERE v.seq <= :at AND v.until > :at AND v.status = 'active' AND v.trust <> 'unverified'
UNION ALL
SELECT e.seq, e.text, e."user" FROM episodes e
WHERE e.seq <= :at AND e.trust <> 'unverified' AND NOT EXISTS (
  SELECT 1 FROM hidden h WHERE h.episode = e.id AND h.seq <= :at AND h.until > :at
);

-- name: texts_rest
-- All other texts of then: words that were corrected, what was forgotten, held or shadowed.
SELECT d.seq, d.text, d."user" FROM versions d
WHERE d.seq <= :at AND d.seq = d.text_seq AND NOT EXISTS (
  SELECT 1 FROM versions v WHERE v.id = d.id AND v.text_seq = d.seq AND v.seq <= :at
    AND v.until > :at AND v.status = 'active' AND v.trust <> 'unverified'
)
UNION ALL
SELECT e.seq, e.text, e."user" FROM episodes e
WHERE e.seq <= :at AND (e.trust = 'unverified' OR EXISTS (
  SELECT 1 FROM hidden h WHERE h.episode = e.id AND h.seq <= :at AND h.until > :at
));

-- name: texts_after
SELECT seq, text FROM (
  SELECT seq, text FROM versions WHERE seq > :after AND seq = text_seq
  UNION ALL
  SELECT seq, text FROM episodes WHERE seq > :after
) AS texts ORDER BY seq LIMIT :limit;

-- name: count_texts_after
SELECT COUNT(*) FROM (
  SELECT seq FROM versions WHERE seq > :after AND seq = text_seq
  UNION ALL
  SELECT seq FROM episodes WHERE seq > :after
  LIMIT :limit
) AS texts;

-- name: check_recallable
-- The check of full text itself: an error if it finds something.
INSERT INTO recallable (recallable) VALUES ('integrity-check');

-- name: check_rest
INSERT INTO rest (rest) VALUES ('integrity-check');

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
