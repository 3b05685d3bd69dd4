-- Records and their versions.

-- name: get_version
-- The last that began: each one ends where the next begins, so the others need not be looked at.
SELECT * FROM full_versions WHERE id = :id AND seq <= :at ORDER BY seq DESC LIMIT 1;

-- name: get_versions
SELECT * FROM full_versions WHERE id = :id AND seq <= :at ORDER BY seq;

-- name: has_version
SELECT 1 FROM versions WHERE id = ? LIMIT 1;

-- name: versions_of_ids
SELECT v.* FROM json_each(:ids) s CROSS JOIN full_versions v ON v.seq = (
  SELECT MAX(m.seq) FROM versions m WHERE m.id = s.value AND m.seq <= :at
);

-- name: versions_of_events
SELECT v.* FROM json_each(:seqs) s CROSS JOIN full_versions v ON v.seq = s.value;

-- name: version_of_event
SELECT * FROM full_versions WHERE seq = :seq;

-- name: record_of_event
SELECT id FROM versions WHERE seq = :seq AND what = 'added';

-- name: list_versions
SELECT v.* FROM full_versions v
WHERE v.seq <= :last AND v.until > :at -- one bound: of two, SQLite would walk from either
  AND v.status IN (SELECT value FROM json_each(:statuses))
  AND (:user IS NULL OR v."user" = :user)
  AND TRUE /* filter: record */
ORDER BY v.seq DESC LIMIT :limit;

-- name: recent_records
-- The same for records that have such an instant; the others are listed by their last change.
SELECT v.* FROM full_versions v
WHERE (v.said_at, v.seq) < (:said_at, :seq) AND v.said_at >= :since AND v.seq <= :at
  AND v.until > :at AND v.status IN ('active', 'inbox')
  AND TRUE /* filter: record */
ORDER BY v.said_at DESC, v.seq DESC LIMIT :limit;

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

-- name: is_there
-- Whether a record ever had this id, and whether one has this content now.
SELECT EXISTS (SELECT 1 FROM versions WHERE id = ?1),
  EXISTS (SELECT 1 FROM versions WHERE content_id = ?2 AND until = 9007199254740991);

-- name: keyed
SELECT * FROM full_versions
WHERE key = :key AND until = 9007199254740991
  AND "user" IS :user;

-- name: keyed_at
SELECT * FROM full_versions
WHERE key = :key AND seq <= :at AND until > :at
  AND "user" IS :user;

-- name: holder
SELECT * FROM full_versions
WHERE key = :key AND until = 9007199254740991 AND status = 'active' AND "user" IS :user;

-- name: under_key
-- In the order of the index: what is active comes first.
SELECT * FROM full_versions
WHERE key = :key AND until = 9007199254740991 AND (:user IS NULL OR "user" = :user)
ORDER BY status LIMIT :limit;

-- name: under_key_at
SELECT * FROM full_versions
WHERE key = :key AND seq <= :at AND until > :at
  AND (:user IS NULL OR "user" = :user)
ORDER BY status LIMIT :limit;

-- name: versions_by_content
SELECT * FROM full_versions
WHERE content_id = :content_id AND until = 9007199254740991
ORDER BY id;

-- name: twins
-- The first is enough.
SELECT id FROM full_versions
WHERE content_id = :content_id AND until = 9007199254740991 AND status = 'active'
  AND trust <> 'unverified' AND text = :text AND "user" IS :user
ORDER BY id LIMIT 1;

-- name: tagged
SELECT v.* FROM full_versions v
WHERE v.id IN (
    SELECT t.record FROM tags t
    WHERE t.tag >= :low AND t.tag <= :high AND t.seq <= :at AND t.until > :at
  )
  AND v.seq <= :at AND v.until > :at AND v.status = 'active' AND v.trust <> 'unverified'
  AND (:user IS NULL OR v."user" = :user)
ORDER BY v.seq DESC LIMIT :limit;

-- name: abouts
-- What records are about now: one look into versions_about for each, however many records there are.
WITH RECURSIVE found (about) AS (
  SELECT MIN(v.about) FROM versions v WHERE v.until = 9007199254740991 AND v.about IS NOT NULL
  UNION ALL
  SELECT (
    SELECT MIN(v.about) FROM versions v
    WHERE v.until = 9007199254740991 AND v.about IS NOT NULL AND v.about > f.about
  ) FROM found f WHERE f.about IS NOT NULL
)
SELECT about FROM found WHERE about IS NOT NULL;

-- name: about_now
-- The last records about something.
SELECT id FROM versions
WHERE about = :about AND until = 9007199254740991 AND status = 'active' AND "user" IS :user
ORDER BY seq DESC LIMIT :limit;

-- name: records_about_any
SELECT v.* FROM full_versions v
WHERE v.about IN (SELECT value FROM json_each(:abouts))
  AND v.until = 9007199254740991 AND v.about IS NOT NULL AND v.status IN ('active', 'archived');

-- name: records_about_nothing
SELECT * FROM full_versions
WHERE about IS NULL AND until = 9007199254740991 AND status IN ('active', 'archived');

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

-- name: records_changed
SELECT id FROM versions WHERE seq > :after; -- not DISTINCT: that would walk through every id

-- name: records_added
SELECT id FROM versions
WHERE seq > :after AND seq <= :through AND what = 'added' AND session IS NOT NULL ORDER BY seq;

-- name: has_superseded
SELECT 1 FROM versions WHERE superseded_by = :id LIMIT 1;

-- name: added_over
-- The records that were added in the place of another, which may be erased.
SELECT id, seq FROM versions WHERE supersedes = :id AND what = 'added';

-- name: superseded_by
SELECT id FROM versions WHERE superseded_by = :id AND seq <= :at AND until > :at;

-- name: any_superseded_by
SELECT id FROM versions
WHERE superseded_by IN (SELECT value FROM json_each(:ids)) AND superseded_by IS NOT NULL
  AND until = 9007199254740991;

-- name: ended_by
-- Who has taken a record out since it last came back.
SELECT DISTINCT origin FROM versions
WHERE id = :id AND (what IN ('forgotten', 'superseded', 'archived') OR (what = 'reviewed' AND status = 'archived'))
  AND seq > COALESCE((
  SELECT MAX(seq) FROM versions WHERE id = :id AND what = 'restored'
), 0);

-- name: ineffective_of
SELECT seq FROM ineffective WHERE record = :id;

-- name: ids_between
SELECT id FROM (
  SELECT DISTINCT id FROM versions
  WHERE id >= :low AND id < :high AND seq <= :at
    AND (:user IS NULL OR "user" = :user)
  ORDER BY id LIMIT :limit
) AS records
UNION
SELECT id FROM (
  SELECT id FROM episodes
  WHERE id >= :low AND id < :high AND seq <= :at
    AND (:user IS NULL OR "user" = :user)
  ORDER BY id LIMIT :limit
) AS episodes
ORDER BY id LIMIT :limit;
