-- Statements that both engines run as they are. Writes bind by position, reads by name.

-- name: get_position
SELECT version, space, seq, hash, at, active_us, "offset", purged FROM position;

-- name: known_head
-- Asked of indexes of any release: these columns have been in every schema and stay.
SELECT seq, hash, at FROM position;

-- name: set_purged
UPDATE position SET purged = ?;

-- name: move_offset
UPDATE position SET "offset" = ?;

-- name: add_command
INSERT INTO commands (seq, first, id, marks, at, active_us, origin, author)
VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: blank_command
-- Once all of its events are erased, nothing says any more who acted.
UPDATE commands SET marks = '', author = CASE WHEN seq - first + 1 > (
    SELECT COUNT(*) FROM erased x WHERE x.seq BETWEEN commands.first AND commands.seq
  ) THEN author END
WHERE seq = (SELECT MIN(c.seq) FROM commands c WHERE c.seq >= ?) AND first <= ?;

-- name: add_author
INSERT INTO authors (seq, id, name, checked, "user") VALUES (?, ?, ?, ?, ?);

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

-- name: drop_author
DELETE FROM authors WHERE seq = ?;

-- name: end_version
UPDATE versions SET until = ? WHERE seq = ?;

-- name: add_version
INSERT INTO versions (/* columns: names */) VALUES (/* columns: values */);

-- name: add_tag
INSERT INTO tags (tag, record, seq, until) VALUES (?, ?, ?, ?);

-- name: end_tag
UPDATE tags SET until = ? WHERE tag = ? AND record = ? AND until = 9007199254740991;

-- name: add_evidence
INSERT INTO evidence (episode, record, seq, text_seq) VALUES (?, ?, ?, ?);

-- name: add_resting
INSERT INTO resting (episode, record, now) VALUES (?, ?, ?);

-- name: drop_resting
DELETE FROM resting WHERE episode = ? AND record = ?;

-- name: add_replaced
INSERT INTO replaced (token, record, text_seq, by) VALUES (?, ?, ?, ?)
ON CONFLICT DO NOTHING;

-- name: drop_replaced
DELETE FROM replaced WHERE record = ?;

-- name: drop_replaced_by
DELETE FROM replaced WHERE by = ?;

-- name: drop_resting_on
DELETE FROM resting WHERE episode = ?;

-- name: add_episode
INSERT INTO episodes (
  id, seq, text, role, "user", session, agent, said_at, at, metadata, origin, trust, transient
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: add_hidden
INSERT INTO hidden (episode, why, seq, until, origin) VALUES (?, ?, ?, ?, ?);

-- name: end_hidden
UPDATE hidden SET until = ? WHERE episode = ? AND why = ? AND until = 9007199254740991;

-- name: drop_shadows
DELETE FROM hidden WHERE episode = ? AND why = 'shadowed';

-- name: add_link
INSERT INTO links (source, target, kind, seq, until, weight, trust, at, reinforcement_count, name)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: end_link
UPDATE links SET until = ? WHERE source = ? AND target = ? AND kind = ?
  AND until = 9007199254740991;

-- name: end_frame
UPDATE frames SET until = ? WHERE name = ? AND until = 9007199254740991;

-- name: add_frame
INSERT INTO frames (
  name, seq, until, at, trust, weights, "where", unit, guarantees, tokens, template, cache, floor
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: end_document
UPDATE documents SET until = ? WHERE type = ? AND name = ? AND until = 9007199254740991;

-- name: add_document
INSERT INTO documents (type, name, seq, until, at, trust, data) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: end_pass
UPDATE passes SET until = ? WHERE rule = ? AND until = 9007199254740991;

-- name: add_pass
INSERT INTO passes (rule, seq, until, at, through, seen, made, skipped)
VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: name_session
INSERT INTO sessions (id, "user", seq) VALUES (?, ?, ?)
ON CONFLICT DO NOTHING;

-- name: open_session
UPDATE sessions SET opened = ?, task_type = ?, hours = ? WHERE id = ? AND "user" = ?;

-- name: close_session
UPDATE sessions SET closed = ? WHERE id = ? AND "user" = ?;

-- name: end_proposal
UPDATE proposals SET until = ?, outcome = ?, settled_by = ?, settled_at = ?, note = ?, record = ?
WHERE id = ?;

-- name: add_proposal
INSERT INTO proposals (
  id, seq, at, origin, intent, trust, target, base, text, key, kind, about, evidence, spans, rule,
  confidence, reason, changes, "user", session, agent, until, branch
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: add_branch
INSERT INTO branches (id, seq, at, origin, name, parent, reason, "user", session, agent, until)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: end_branch
UPDATE branches SET until = ?, how = ?, closed_by = ?, closed_at = ?, note = ?, record = ?
WHERE id = ?;

-- name: add_concern
INSERT INTO concerns (subject, proposal, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING;

-- name: add_receipt
INSERT INTO receipts (
  id, seq, at, "user", session, agent, query, frame, frame_digest, ranking, embedder, now, position,
  budget, tokens, counter, signals, items
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: add_erased
INSERT INTO erased (seq, by) VALUES (?, ?);

-- name: drop_versions
DELETE FROM versions WHERE id = ?;

-- name: drop_tags
DELETE FROM tags WHERE record = ?;

-- name: drop_evidence
DELETE FROM evidence WHERE record = ?;

-- name: drop_link
DELETE FROM links WHERE seq = ?;

-- name: drop_episode
DELETE FROM episodes WHERE id = ?;

-- name: drop_frame
DELETE FROM frames WHERE name = ?;

-- name: drop_document
DELETE FROM documents WHERE type = ? AND name = ?;

-- name: drop_passes
DELETE FROM passes WHERE rule = ?;

-- name: move_session
UPDATE sessions SET seq = ? WHERE id = ? AND "user" = ?;

-- name: drop_session
DELETE FROM sessions WHERE id = ? AND "user" = ?;

-- name: drop_proposal
DELETE FROM proposals WHERE id = ?;

-- name: drop_branch
DELETE FROM branches WHERE id = ?;

-- name: reopen_branch
UPDATE branches SET until = 9007199254740991, how = NULL, closed_by = NULL, closed_at = NULL,
  note = NULL, record = NULL
WHERE id = ?;

-- name: reopen_proposal
UPDATE proposals SET until = 9007199254740991, outcome = NULL, settled_by = NULL, settled_at = NULL,
  note = NULL, record = NULL
WHERE id = ?;

-- name: drop_concern
DELETE FROM concerns WHERE proposal = ? AND seq = ?;

-- name: drop_concerns
DELETE FROM concerns WHERE proposal = ?;

-- name: drop_note
DELETE FROM notes WHERE seq = ?;

-- name: drop_receipt
DELETE FROM receipts WHERE seq = ?;

-- name: drop_hidden
DELETE FROM hidden WHERE episode = ?;

-- name: get_command
SELECT seq, first, id, marks, at, active_us FROM commands WHERE id = :id
ORDER BY seq LIMIT 1;

-- name: command_at
SELECT seq, first, id, marks, at, active_us FROM commands
WHERE seq <= :seq ORDER BY seq DESC LIMIT 1;

-- name: command_of_event
SELECT seq, first, id, marks, at, active_us FROM commands
WHERE seq >= :seq ORDER BY seq LIMIT 1;

-- name: get_version
-- The last that began: each one ends where the next begins, so the others need not be looked at.
SELECT * FROM full_versions WHERE id = :id AND seq <= :at ORDER BY seq DESC LIMIT 1;

-- name: get_versions
SELECT * FROM full_versions WHERE id = :id AND seq <= :at ORDER BY seq;

-- name: keyed
SELECT * FROM full_versions
WHERE key = :key AND until = 9007199254740991
  AND ("user" = :user OR ("user" IS NULL AND :user IS NULL));

-- name: keyed_at
SELECT * FROM full_versions
WHERE key = :key AND seq <= :at AND until > :at
  AND ("user" = :user OR ("user" IS NULL AND :user IS NULL));

-- name: under_key
-- In the order of the index: what is active comes first.
SELECT * FROM full_versions
WHERE key = :key AND until = 9007199254740991 AND (CAST(:user AS text) IS NULL OR "user" = :user)
ORDER BY status LIMIT :limit;

-- name: under_key_at
SELECT * FROM full_versions
WHERE key = :key AND seq <= :at AND until > :at
  AND (CAST(:user AS text) IS NULL OR "user" = :user)
ORDER BY status LIMIT :limit;

-- name: ids_between
SELECT id FROM (
  SELECT DISTINCT id FROM versions
  WHERE id >= :low AND id < :high AND seq <= :at
    AND (CAST(:user AS text) IS NULL OR "user" = :user)
  ORDER BY id LIMIT :limit
) AS records
UNION
SELECT id FROM (
  SELECT id FROM episodes
  WHERE id >= :low AND id < :high AND seq <= :at
    AND (CAST(:user AS text) IS NULL OR "user" = :user)
  ORDER BY id LIMIT :limit
) AS episodes
ORDER BY id LIMIT :limit;

-- name: records_about
SELECT id FROM versions
WHERE about = :about AND until = 9007199254740991
  AND (CAST(:user AS text) IS NULL OR "user" = :user)
ORDER BY seq;

-- name: records_expired
SELECT id FROM versions
WHERE expires < :before AND until = 9007199254740991
  AND (CAST(:user AS text) IS NULL OR "user" = :user)
ORDER BY seq;

-- name: records_of_user
SELECT id FROM versions WHERE "user" = :user AND until = 9007199254740991 ORDER BY seq;

-- name: episodes_of_user
SELECT id FROM episodes WHERE "user" = :user ORDER BY seq;

-- name: proposals_of_user
SELECT id FROM proposals WHERE "user" = :user ORDER BY seq;

-- name: proposals_of_about
SELECT id FROM proposals
WHERE about = :about AND (CAST(:user AS text) IS NULL OR "user" = :user) ORDER BY seq;

-- name: proposals_of_key
SELECT id FROM proposals
WHERE key = :key AND (CAST(:user AS text) IS NULL OR "user" = :user) ORDER BY seq;

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

-- name: has_version
SELECT 1 FROM versions WHERE id = ? LIMIT 1;

-- name: versions_by_content
SELECT * FROM full_versions
WHERE content_id = :content_id AND until = 9007199254740991
ORDER BY id;

-- name: tagged
SELECT v.* FROM full_versions v
WHERE v.id IN (
    SELECT t.record FROM tags t
    WHERE t.tag >= :low AND t.tag <= :high AND t.seq <= :at AND t.until > :at
  )
  AND v.seq <= :at AND v.until > :at AND v.status = 'active' AND v.trust <> 'unverified'
  AND (CAST(:user AS text) IS NULL OR v."user" = :user)
ORDER BY v.seq DESC LIMIT :limit;

-- name: evidence_of_record
SELECT DISTINCT episode FROM evidence WHERE record = :record ORDER BY episode;

-- name: evidence_of_words
SELECT episode, MAX(seq) FROM evidence
WHERE record = :record AND text_seq = :text_seq GROUP BY episode ORDER BY episode;

-- name: add_ineffective
INSERT INTO ineffective (seq, record) VALUES (?, ?);

-- name: drop_ineffective
DELETE FROM ineffective WHERE seq = ?;

-- name: drop_ineffective_of
DELETE FROM ineffective WHERE record = ?;

-- name: ineffective_of
SELECT seq FROM ineffective WHERE record = :id;

-- name: has_replaced
SELECT 1 FROM replaced LIMIT 1;

-- name: get_resting
SELECT now FROM resting WHERE episode = :episode AND record = :record;

-- name: is_rested_on
SELECT 1 FROM resting WHERE episode = :episode AND now = 1 LIMIT 1;

-- name: is_shadowed
SELECT 1 FROM hidden
WHERE episode = :episode AND why = 'shadowed' AND until = 9007199254740991 LIMIT 1;

-- name: forgotten_by
SELECT origin FROM hidden
WHERE episode = :episode AND why = 'forgotten' AND until = 9007199254740991;

-- name: ended_by
-- Who has taken a record out since it last came back.
SELECT DISTINCT origin FROM versions
WHERE id = :id AND (what IN ('forgotten', 'superseded', 'archived') OR (what = 'reviewed' AND status = 'archived'))
  AND seq > COALESCE((
  SELECT MAX(seq) FROM versions WHERE id = :id AND what = 'restored'
), 0);

-- name: evidence_of_episode
SELECT e.seq AS tied, v.* FROM evidence e
JOIN full_versions v ON v.id = e.record AND v.text_seq = e.text_seq
WHERE e.episode = :episode ORDER BY v.id, v.seq, e.seq;

-- name: derived_from
-- What has more than a certain trust and was derived from a record: its words name the record (see
-- index.rows.supports), or a trusted link says so. A review that let it in vouches for what it rested on;
-- what a person wrote is not lowered by what an agent captured.
-- No joins and no order: PostgreSQL does not know how few rows these are, and would read the whole space.
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
      AND (v.what = 'reviewed' OR (v.what = 'vouched' AND CAST(:above AS text) = 'agent'))
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
      AND (v.what = 'reviewed' OR (v.what = 'vouched' AND CAST(:above AS text) = 'agent'))
    ORDER BY v.seq DESC LIMIT 1
  ), 'held') NOT IN ('active', 'inbox');

-- name: named_by
-- Which words of which records name something as evidence, and since when.
SELECT record, text_seq, MIN(seq) FROM evidence WHERE episode = :id GROUP BY record, text_seq;

-- name: has_superseded
SELECT 1 FROM versions WHERE superseded_by = :id LIMIT 1;

-- name: added_over
-- The records that were added in the place of another, which may be erased.
SELECT id, seq FROM versions WHERE supersedes = :id AND what = 'added';

-- name: superseded_by
SELECT id FROM versions WHERE superseded_by = :id AND seq <= :at AND until > :at;

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
  WHERE v.key = CAST(:key AS text) AND v.trust = 'person' AND v.what IN ('added', 'reviewed', 'vouched')
    AND (v."user" = :user OR (v."user" IS NULL AND CAST(:user AS text) IS NULL))
);

-- name: named_at
SELECT seq FROM evidence
WHERE episode = ? AND record = ? AND text_seq = ? ORDER BY seq LIMIT 1;

-- name: last_named
SELECT MAX(seq) FROM evidence WHERE episode = ? AND record = ?;

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

-- name: recent_records
-- The same for records that have such an instant; the others are listed by their last change.
SELECT v.* FROM full_versions v
WHERE (v.said_at, v.seq) < (:said_at, :seq) AND v.said_at >= :since AND v.seq <= :at
  AND v.until > :at AND v.status IN ('active', 'inbox')
  AND TRUE /* filter: record */
ORDER BY v.said_at DESC, v.seq DESC LIMIT :limit;

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

-- name: recent_sessions
-- Of the newest episodes in sessions: the first, and in how many sessions they are.
SELECT MIN(first), COUNT(*) FROM (
  SELECT MIN(seq) AS first FROM (
    SELECT seq, session, "user" FROM episodes
    WHERE session IS NOT NULL AND trust <> 'unverified' AND seq <= :at
    ORDER BY seq DESC LIMIT :limit
  ) AS recent GROUP BY session, "user"
) AS sessions;

-- name: links_of
SELECT source, target, kind, seq, until, weight, trust, at, reinforcement_count, name
FROM links
WHERE (source = :id OR target = :id) AND seq <= :at AND until > :at
ORDER BY seq, source, target, kind;

-- name: ends_of_links
SELECT source, target FROM links
WHERE seq <= :at AND until > :at AND trust <> 'unverified' ORDER BY seq;

-- name: links_without_end
SELECT l.source, l.kind, l.target FROM links l
WHERE l.seq <= :at AND l.until > :at
  AND (
    NOT EXISTS (SELECT 1 FROM versions v WHERE v.id = l.source)
    OR NOT EXISTS (SELECT 1 FROM versions v WHERE v.id = l.target)
  )
ORDER BY l.seq LIMIT :limit;

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

-- name: records_about_nothing
SELECT * FROM full_versions
WHERE about IS NULL AND until = 9007199254740991 AND status IN ('active', 'archived');

-- name: records_changed
SELECT id FROM versions WHERE seq > :after; -- not DISTINCT: that would walk through every id

-- name: records_added
SELECT id FROM versions
WHERE seq > :after AND seq <= :through AND what = 'added' AND session IS NOT NULL ORDER BY seq;

-- name: documents_changed
SELECT DISTINCT type, name FROM documents
WHERE seq > :after OR (until > :after AND until < 9007199254740991) ORDER BY type, name;

-- name: link_events_of
SELECT seq, until FROM links WHERE source = :id OR target = :id;

-- name: links_changed
SELECT source, target, kind, seq, until, weight, trust, at, reinforcement_count, name
FROM links
WHERE seq BETWEEN :first AND :last OR until BETWEEN :first AND :last ORDER BY seq;

-- name: get_link
SELECT source, target, kind, seq, until, weight, trust, at, reinforcement_count, name
FROM links
WHERE source = :source AND target = :target AND kind = :kind
  AND until = 9007199254740991;

-- name: hidden_events_of
SELECT seq, until FROM hidden WHERE episode = :episode AND why = 'forgotten';

-- name: record_of_event
SELECT id FROM versions WHERE seq = :seq AND what = 'added';

-- name: episode_of_event
SELECT e.*, (
  SELECT MIN(h.why) FROM hidden h WHERE h.episode = e.id AND h.seq <= :at AND h.until > :at
) AS hidden
FROM episodes e WHERE e.seq = :seq;

-- name: link_of_event
SELECT source FROM links WHERE seq = :seq;

-- name: version_of_event
SELECT * FROM full_versions WHERE seq = :seq;

-- name: get_frame
SELECT * FROM frames WHERE name = :name AND seq <= :at AND until > :at;

-- name: list_frames
SELECT * FROM frames WHERE seq <= :at AND until > :at ORDER BY name;

-- name: frame_events_of
SELECT seq, until FROM frames WHERE name = :name;

-- name: frame_of_event
SELECT name FROM frames WHERE seq = :seq;

-- name: get_document
SELECT * FROM documents WHERE type = :type AND name = :name AND seq <= :at AND until > :at;

-- name: get_pass
SELECT * FROM passes WHERE rule = :rule AND seq <= :at AND until > :at;

-- name: passes_of
SELECT seq FROM passes WHERE rule = :rule;

-- name: pass_of_event
SELECT rule FROM passes WHERE seq = :seq;

-- name: list_documents
SELECT * FROM documents
WHERE (CAST(:type AS text) IS NULL OR type = :type) AND (type, name) > (:after_type, :after_name)
  AND seq <= :at AND until > :at
ORDER BY type, name LIMIT :limit;

-- name: document_events_of
SELECT seq, until FROM documents WHERE type = :type AND name = :name;

-- name: document_of_event
SELECT type, name FROM documents WHERE seq = :seq;

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
  AND (CAST(:user AS text) IS NULL OR "user" = :user)
ORDER BY opened DESC LIMIT 1;

-- name: sessions_opened_by
SELECT * FROM sessions WHERE "user" = :user AND opened < 9007199254740991 ORDER BY seq;

-- name: sessions_opened
SELECT * FROM sessions WHERE opened < 9007199254740991 ORDER BY seq;

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

-- name: get_proposal
SELECT * FROM proposals WHERE id = :id AND seq <= :at;

-- name: list_waiting
-- What waits for a person, the longest first: proposals, and records that are held.
SELECT unit, id, seq FROM (
  SELECT * FROM (
    SELECT 'proposal' AS unit, p.id, p.seq FROM proposals p
    WHERE p.seq > :after AND p.seq <= :at AND p.until > :at AND p.branch IS NULL
      AND (CAST(:user AS text) IS NULL OR p."user" = :user)
    ORDER BY p.seq LIMIT :limit
  ) AS proposed
  UNION ALL
  SELECT * FROM (
    SELECT 'record', v.id, v.seq FROM versions v
    WHERE v.status = 'held' AND v.seq > :after AND v.seq <= :at AND v.until > :at
      AND (CAST(:user AS text) IS NULL OR v."user" = :user)
    ORDER BY v.seq LIMIT :limit
  ) AS held
) AS waiting ORDER BY seq LIMIT :limit;

-- name: proposals_about
SELECT p.* FROM concerns c JOIN proposals p ON p.id = c.proposal
WHERE c.subject = :target AND p.target = :target AND p.seq <= :at AND p.until > :at
ORDER BY p.seq DESC;

-- name: proposals_made
SELECT id FROM proposals WHERE seq BETWEEN :first AND :last ORDER BY seq;

-- name: proposal_events_of
SELECT p.seq, p.until, p.branch, p.changes FROM concerns c JOIN proposals p ON p.id = c.proposal
WHERE c.subject = :subject;

-- name: proposal_settled_by
SELECT id FROM proposals WHERE until = :seq AND until < 9007199254740991;

-- name: proposal_of_event
SELECT id FROM proposals WHERE seq = :seq;

-- name: get_branch
SELECT * FROM branches WHERE id = :id AND seq <= :at;

-- name: branches_named
SELECT * FROM branches WHERE name = :name AND seq <= :at ORDER BY seq DESC;

-- name: list_branches
SELECT * FROM branches
WHERE seq <= :at AND seq < :before AND (:closed = 1 OR until > :at)
  AND (CAST(:user AS text) IS NULL OR "user" = :user)
ORDER BY seq DESC LIMIT :limit;

-- name: proposals_on
SELECT * FROM proposals WHERE branch = :branch AND seq <= :at ORDER BY seq;

-- name: branch_of_event
SELECT id FROM branches WHERE seq = :seq;

-- name: branch_closed_by
SELECT id FROM branches WHERE until = :seq AND until < 9007199254740991;

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

-- name: has_unfinished_erasures
SELECT 1 FROM erased WHERE by > ? LIMIT 1;

-- name: unfinished_erasures
SELECT e.seq, e.by FROM erased e WHERE e.by > (SELECT purged FROM position) ORDER BY e.seq;

-- name: has_erased_since
SELECT 1 FROM erased WHERE seq <= :seq AND by > :seq LIMIT 1;

-- name: count_versions
SELECT status, COUNT(*) FROM versions WHERE seq <= :at AND until > :at
GROUP BY status ORDER BY status;

-- name: count_episodes
SELECT COUNT(*) FROM episodes WHERE seq <= :at;

-- name: count_shadowed
SELECT COUNT(*) FROM hidden WHERE why = 'shadowed' AND seq <= :at AND until > :at;

-- name: count_links
SELECT COUNT(*) FROM links WHERE seq <= :at AND until > :at;

-- name: count_versions_touched
-- This and the next three count what the events after a position touched, as it stood at `then`. The last
-- version of a record by then is the one that held.
SELECT v.status, COUNT(*) FROM (
  SELECT DISTINCT id FROM versions WHERE seq > :since AND seq <= :at
) AS t JOIN versions v ON v.id = t.id AND v.seq = (
  SELECT MAX(x.seq) FROM versions x WHERE x.id = t.id AND x.seq <= :then
) GROUP BY v.status ORDER BY v.status;

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

-- name: digest_commands
SELECT seq, first, id, marks, at, active_us FROM commands WHERE seq <= :at ORDER BY seq;

-- name: digest_versions
SELECT /* columns: digested */ FROM full_versions WHERE seq <= :at ORDER BY seq;

-- name: digest_tags
SELECT tag, record, seq, until FROM tags WHERE seq <= :at ORDER BY tag, record, seq;

-- name: digest_evidence
SELECT episode, record, seq, text_seq FROM evidence WHERE seq <= :at
ORDER BY episode, record, seq;

-- name: digest_episodes
SELECT id, seq, text, role, "user", session, agent, said_at, at, metadata, origin, trust
FROM episodes WHERE seq <= :at ORDER BY seq;

-- name: digest_hidden
SELECT episode, why, seq, until FROM hidden WHERE seq <= :at ORDER BY episode, why, seq;

-- name: digest_links
SELECT source, target, kind, seq, until, weight, trust, at, reinforcement_count, name
FROM links
WHERE seq <= :at ORDER BY seq;

-- name: digest_frames
SELECT * FROM frames WHERE seq <= :at ORDER BY seq;

-- name: digest_documents
SELECT * FROM documents WHERE seq <= :at ORDER BY seq;

-- name: digest_passes
SELECT * FROM passes WHERE seq <= :at ORDER BY seq;

-- name: digest_sessions
-- As they were then: what happened to one later is left out.
SELECT id, "user", seq,
  CASE WHEN opened <= :at THEN opened ELSE 9007199254740991 END AS opened,
  CASE WHEN closed <= :at THEN closed ELSE 9007199254740991 END AS closed,
  CASE WHEN opened <= :at THEN task_type END AS task_type,
  CASE WHEN opened <= :at THEN hours END AS hours
FROM sessions WHERE seq <= :at ORDER BY seq;

-- name: digest_proposals
SELECT id, seq, at, origin, intent, trust, target, base, text, key, kind, about, evidence, spans, rule,
  confidence, reason, changes, "user", session, agent, until,
  CASE WHEN until <= :at THEN outcome END AS outcome,
  CASE WHEN until <= :at THEN settled_by END AS settled_by,
  CASE WHEN until <= :at THEN settled_at END AS settled_at,
  CASE WHEN until <= :at THEN note END AS note,
  CASE WHEN until <= :at THEN record END AS record,
  branch
FROM proposals WHERE seq <= :at ORDER BY seq;

-- name: digest_branches
SELECT id, seq, at, origin, name, parent, reason, "user", session, agent, until,
  CASE WHEN until <= :at THEN how END AS how,
  CASE WHEN until <= :at THEN closed_by END AS closed_by,
  CASE WHEN until <= :at THEN closed_at END AS closed_at,
  CASE WHEN until <= :at THEN note END AS note,
  CASE WHEN until <= :at THEN record END AS record
FROM branches WHERE seq <= :at ORDER BY seq;

-- name: digest_concerns
SELECT subject, proposal, seq FROM concerns WHERE seq <= :at ORDER BY subject, proposal;

-- name: digest_receipts
SELECT * FROM receipts WHERE seq <= :at ORDER BY seq;

-- name: digest_erased
SELECT seq, by FROM erased WHERE by <= :at ORDER BY seq;

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

-- name: erased_between
SELECT seq FROM erased WHERE seq > :after AND seq <= :through;

-- name: begin_read
BEGIN;

-- name: commit
COMMIT;

-- name: rollback
ROLLBACK;

-- name: savepoint
SAVEPOINT command;

-- name: release
RELEASE command;

-- name: rollback_to
ROLLBACK TO command;
