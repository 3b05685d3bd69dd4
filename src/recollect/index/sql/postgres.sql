-- Statements that only PostgreSQL runs: full text, lists of parameters, the position of a space.
-- Everything they name is a view of the entered space, but for what is added, which names its own.

-- name: get_position
SELECT version, name AS space, seq, hash, at, active_us, "offset", purged FROM position;

-- name: put_position
INSERT INTO position (version, name, seq, hash, at, active_us, "offset", purged)
VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: move_position
UPDATE position SET seq = ?, hash = ?, at = ?, active_us = ?, "offset" = ?;

-- name: there
-- Which of these names exist, before many acts are decided at once. A list that is empty is not looked
-- for at all: what is in front of each AND is asked once. Each comes once, however many have it.
SELECT 'records', id FROM versions
WHERE :records <> '[]' AND id = ANY (ARRAY(SELECT json_array_elements_text(:records::json)))
UNION SELECT 'episodes', id FROM episodes
WHERE :episodes <> '[]' AND id = ANY (ARRAY(SELECT json_array_elements_text(:episodes::json)))
UNION SELECT 'contents', content_id FROM versions
WHERE :contents <> '[]' AND until = 9007199254740991
  AND content_id = ANY (ARRAY(SELECT json_array_elements_text(:contents::json)))
UNION SELECT 'keys', key FROM versions
WHERE :keys <> '[]' AND until = 9007199254740991
  AND key = ANY (ARRAY(SELECT json_array_elements_text(:keys::json)));

-- name: authors_among
SELECT id, name, checked, "user", seq FROM authors a
WHERE name = ANY (ARRAY(SELECT json_array_elements_text(:names::json)))
  AND NOT EXISTS (SELECT 1 FROM authors b WHERE b.id = a.id AND b.seq < a.seq)
ORDER BY seq;

-- name: holder
-- In two parts, because a condition that holds for both would not be looked up in the index.
SELECT * FROM full_versions
WHERE key = :key AND until = 9007199254740991 AND status = 'active' AND "user" = :user
UNION ALL
SELECT * FROM full_versions
WHERE key = :key AND until = 9007199254740991 AND status = 'active' AND "user" IS NULL
  AND :user::text IS NULL;

-- name: about_now
-- The last records about something.
(SELECT id FROM versions
WHERE about = :about AND until = 9007199254740991 AND status = 'active' AND "user" = :user
ORDER BY seq DESC LIMIT :limit)
UNION ALL
(SELECT id FROM versions
WHERE about = :about AND until = 9007199254740991 AND status = 'active' AND "user" IS NULL
  AND :user::text IS NULL
ORDER BY seq DESC LIMIT :limit);

-- name: twins
-- The first is enough.
(SELECT id FROM full_versions
WHERE content_id = :content_id AND until = 9007199254740991 AND status = 'active'
  AND trust <> 'unverified' AND text = :text AND "user" = :user
ORDER BY id LIMIT 1)
UNION ALL
(SELECT id FROM full_versions
WHERE content_id = :content_id AND until = 9007199254740991 AND status = 'active'
  AND trust <> 'unverified' AND text = :text AND "user" IS NULL AND :user::text IS NULL
ORDER BY id LIMIT 1);

-- name: post
-- Postings, as columns.
INSERT INTO recollect.postings (space, shelf, token, doc, times, length)
SELECT ?, ?, p.token, p.doc, p.times, p.length
FROM unnest(string_to_array(?, ' '), ?::bigint[], ?::integer[], ?::integer[])
  AS p (token, doc, times, length);

-- name: unshelve
-- A text's postings go by the text, whatever made its tokens: a client with another Python may have
-- made others. Those that this client names are found at once. If they are not the whole text (their
-- times do not sum to its length), the shelf is searched for the rest, and the count of tokens, from
-- which the caller takes :length, is put right.
WITH named AS (
  DELETE FROM postings
  WHERE shelf = :shelf AND doc = :doc AND token = ANY (:tokens::text[])
  RETURNING times, length
), sums AS MATERIALIZED (
  SELECT COALESCE(SUM(times), 0) AS times, MAX(length) AS length FROM named
), others AS (
  DELETE FROM postings
  WHERE (SELECT times IS DISTINCT FROM length FROM sums)
    AND shelf = :shelf AND doc = :doc AND token <> ALL (:tokens::text[])
  RETURNING times
)
UPDATE shelves SET tokens = tokens + :length
  - (SELECT times FROM sums) - (SELECT COALESCE(SUM(times), 0) FROM others)
WHERE shelf = :shelf
  AND (SELECT times FROM sums) + (SELECT COALESCE(SUM(times), 0) FROM others) <> :length;

-- name: count_shelf
INSERT INTO shelves (shelf, docs, tokens) VALUES (?, ?, ?)
ON CONFLICT (space, shelf) DO UPDATE
SET docs = shelves.docs + EXCLUDED.docs, tokens = shelves.tokens + EXCLUDED.tokens;

-- name: shelf_totals
SELECT docs, tokens FROM shelves WHERE shelf = 'recallable';

-- name: count_holding
SELECT COUNT(*) FROM postings WHERE shelf = 'recallable' AND token = :term;

-- name: sessions_holding
SELECT COUNT(*) FROM (
  SELECT DISTINCT e.session, e."user" FROM postings p JOIN episodes e ON e.seq = p.doc
  WHERE p.shelf = 'recallable' AND p.token = :term AND p.doc >= :first
    AND e.session IS NOT NULL AND e.trust <> 'unverified'
) AS sessions;

-- name: sessions_of_texts
SELECT COUNT(*) FROM (
  SELECT DISTINCT e.session, e."user" FROM episodes e
  WHERE e.seq = ANY (ARRAY(SELECT json_array_elements_text(:seqs::json)::bigint))
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
FROM episodes e
WHERE e.seq = ANY (ARRAY(SELECT json_array_elements_text(:seqs::json)::bigint))
  AND e.session IS NOT NULL;

-- name: list_versions
SELECT v.* FROM full_versions v
WHERE v.seq <= :last AND v.until > :at
  AND v.status = ANY (ARRAY(SELECT json_array_elements_text(:statuses::json)))
  AND (:user::text IS NULL OR v."user" = :user)
  AND TRUE /* filter: record */
ORDER BY v.seq DESC LIMIT :limit;

-- name: cards_of_texts
-- Of records that were not changed since they got their text.
SELECT /* columns: card of v */
FROM full_versions v
WHERE v.seq = ANY (ARRAY(SELECT json_array_elements_text(:seqs::json)::bigint))
  AND v.seq = v.text_seq AND v.seq <= :at AND v.until > :at;

-- name: cards_of_episodes
SELECT e.id, e.seq, e.seq AS text_seq, e.text, NULL AS tokens, NULL AS facts, e.role, e."user",
  e.session, e.said_at, e.at, e.trust, e.transient, (
    SELECT MIN(h.why) FROM hidden h WHERE h.episode = e.id AND h.seq <= :at AND h.until > :at
  ) AS hidden
FROM episodes e
WHERE e.seq = ANY (ARRAY(SELECT json_array_elements_text(:seqs::json)::bigint)) AND e.seq <= :at;

-- name: versions_of_events
SELECT v.* FROM full_versions v
WHERE v.seq = ANY (ARRAY(SELECT json_array_elements_text(:seqs::json)::bigint));

-- name: cards_of_changed_texts
-- The list as an array, and each record looked up by its id (OFFSET 0 keeps it so): left to choose
-- while a space is small, the planner reads the whole space, and keeps to that when it has grown.
SELECT /* columns: card of v */
FROM versions d CROSS JOIN LATERAL (
  SELECT * FROM full_versions t
  WHERE t.id = d.id AND t.text_seq = d.seq AND t.until > :at AND t.seq = (
    SELECT MAX(l.seq) FROM versions l WHERE l.id = d.id AND l.seq <= :at
  ) OFFSET 0
) v
WHERE d.seq = ANY (ARRAY(SELECT json_array_elements_text(:seqs::json)::bigint));

-- name: replaced_with
-- Of each of these words, the values of a user that were replaced last; those of the rarest words first.
SELECT token, text_seq, by FROM (
  SELECT t.token, r.text_seq, r.by, COUNT(*) OVER (PARTITION BY t.token) AS often
  FROM json_array_elements_text(:tokens::json) t (token)
  CROSS JOIN LATERAL (
    SELECT l.text_seq, l.by FROM replaced l JOIN versions u ON u.seq = l.text_seq
    WHERE l.token = t.token AND l.text_seq <= :at AND (:user::text IS NULL OR u."user" = :user::text)
    ORDER BY l.text_seq DESC LIMIT :each
  ) r
) AS found
ORDER BY often, text_seq DESC, token, by LIMIT :limit;

-- name: last_cards_of_texts
-- The one before that with the next text: the versions of one text follow each other.
SELECT /* columns: card of v */
FROM versions d
JOIN full_versions v ON v.seq = (
  SELECT MAX(l.seq) FROM versions l
  WHERE l.id = d.id AND l.seq <= :at AND l.seq < COALESCE((
    SELECT n.seq FROM versions n WHERE n.id = d.id AND n.seq > d.seq AND n.text_seq <> d.seq
    ORDER BY n.seq LIMIT 1
  ), 9007199254740991)
)
WHERE d.seq = ANY (ARRAY(SELECT json_array_elements_text(:seqs::json)::bigint)) AND d.seq <= :at;

-- name: episodes_of_texts
SELECT e.*, (
  SELECT MIN(h.why) FROM hidden h WHERE h.episode = e.id AND h.seq <= :at AND h.until > :at
) AS hidden
FROM episodes e
WHERE e.seq = ANY (ARRAY(SELECT json_array_elements_text(:seqs::json)::bigint)) AND e.seq <= :at;

-- name: list_postings
SELECT shelf, doc, token, times, length FROM postings ORDER BY shelf, doc, token;

-- name: list_shelves
SELECT shelf, docs, tokens FROM shelves WHERE docs <> 0 OR tokens <> 0;

-- name: records_about_any
SELECT v.* FROM full_versions v
WHERE v.about = ANY (ARRAY(SELECT json_array_elements_text(:abouts::json)))
  AND v.until = 9007199254740991 AND v.about IS NOT NULL AND v.status IN ('active', 'archived');

-- name: first_about
-- The oldest record that pages show.
SELECT v.* FROM full_versions v
WHERE v.about = ANY (ARRAY(SELECT json_array_elements_text(:abouts::json)))
  AND v.until = 9007199254740991 AND v.about IS NOT NULL
  AND (v.status = 'active' OR (
    v.status = 'archived' AND (v.superseded_by IS NOT NULL OR v.reason = 'refuted')
  ))
  AND (:user::text IS NULL OR v."user" = :user)
ORDER BY v.created_at, v.id LIMIT 1;

-- name: any_superseded_by
SELECT id FROM versions
WHERE superseded_by = ANY (ARRAY(SELECT json_array_elements_text(:ids::json)))
  AND superseded_by IS NOT NULL AND until = 9007199254740991;

-- name: trusted_links_of
WITH ids AS (SELECT ARRAY(SELECT json_array_elements_text(:ids::json)) AS every)
SELECT source, target, kind, seq, until, weight, trust, at, reinforcement_count, name
FROM links, ids
WHERE (source = ANY (ids.every) OR target = ANY (ids.every))
  AND trust <> 'unverified' AND seq <= :at AND until > :at
ORDER BY seq;

-- name: links_around
-- The newest links of each of these records to what may be shown, in their order.
WITH asked AS (
  SELECT a.id, a.place FROM json_array_elements_text(:ids::json) WITH ORDINALITY a (id, place)
), named AS (
  SELECT ARRAY(SELECT json_array_elements_text(:kinds::json)) AS kinds,
    ARRAY(SELECT json_array_elements_text(:words::json)) AS words,
    ARRAY(SELECT json_array_elements_text(:ends::json)) AS ends
)
SELECT source, target, kind, seq, until, weight, trust, at, reinforcement_count, name FROM (
  SELECT a.place, o.* FROM asked a, named, LATERAL (
    SELECT * FROM links l
    WHERE :outward > 0 AND l.source = a.id AND l.seq <= :at AND l.until > :at
      AND l.trust <> :without AND (:every > 0 OR l.kind = ANY (named.kinds))
      AND (l.target = ANY (named.ends) OR (
        SELECT /* columns: why v is hidden */
        FROM versions v WHERE v.id = l.target AND v.seq <= :at ORDER BY v.seq DESC LIMIT 1
      ) = ANY (named.words))
    ORDER BY l.seq DESC LIMIT :limit
  ) o
  UNION ALL
  SELECT a.place, i.* FROM asked a, named, LATERAL (
    SELECT * FROM links l
    WHERE :inward > 0 AND l.target = a.id AND l.seq <= :at AND l.until > :at
      AND l.trust <> :without AND (:every > 0 OR l.kind = ANY (named.kinds))
      AND (l.source = ANY (named.ends) OR (
        SELECT /* columns: why v is hidden */
        FROM versions v WHERE v.id = l.source AND v.seq <= :at ORDER BY v.seq DESC LIMIT 1
      ) = ANY (named.words))
    ORDER BY l.seq DESC LIMIT :limit
  ) i
) AS found
ORDER BY place, seq DESC;

-- name: versions_of_ids
SELECT v.* FROM json_array_elements_text(:ids::json) a (id), LATERAL (
  SELECT * FROM full_versions f WHERE f.id = a.id AND f.seq <= :at ORDER BY f.seq DESC LIMIT 1
) v;

-- name: instants_of_events
SELECT s.value::bigint, (
  SELECT c.at FROM commands c WHERE c.seq >= s.value::bigint ORDER BY c.seq LIMIT 1
) FROM json_array_elements_text(:seqs::json) s;

-- name: active_at_events
SELECT s.value::bigint, c.active_us FROM json_array_elements_text(:seqs::json) s
JOIN commands c ON c.seq = (SELECT MIN(k.seq) FROM commands k WHERE k.seq >= s.value::bigint);

-- name: match
-- BM25 as FTS5 computes it, operation by operation, so that both engines give the same order.
WITH terms AS MATERIALIZED (
  SELECT t.token, t.n, (
    SELECT COUNT(*) FROM postings p WHERE p.shelf = :shelf AND p.token = t.token
  )::double precision AS hits
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
FROM weights w JOIN postings p ON p.shelf = :shelf AND p.token = w.token
WHERE :user::text IS NULL OR EXISTS (
  SELECT 1 FROM versions v WHERE v.seq = p.doc AND v."user" = :user
  UNION ALL
  SELECT 1 FROM episodes e WHERE e.seq = p.doc AND e."user" = :user
)
GROUP BY p.doc ORDER BY rank, p.doc DESC LIMIT :limit;

-- Vectors. Exact: every row of the space is looked at.

-- name: get_embedder
SELECT through FROM embedders WHERE name = :name AND dimensions = :dimensions;

-- name: put_embedder
INSERT INTO embedders (name, dimensions, through) VALUES (?, ?, ?)
ON CONFLICT (space, name) DO UPDATE
SET dimensions = EXCLUDED.dimensions, through = EXCLUDED.through;

-- name: add_vector
INSERT INTO recollect.vectors (space, embedder, seq, piece, embedding)
VALUES (:space, :embedder, :seq, :piece, recollect.as_vector(:row::text));

-- name: empty_vectors
DELETE FROM vectors WHERE embedder = :embedder;

-- name: drop_vectors
DELETE FROM vectors WHERE seq = ANY (:seqs::bigint[]);

-- name: nearest
WITH asked AS MATERIALIZED (SELECT recollect.as_vector(:row::text) AS embedding)
SELECT v.seq, MAX(recollect.nearness(v.embedding, a.embedding)) AS score
FROM vectors v, asked a WHERE v.embedder = :embedder
GROUP BY v.seq ORDER BY score DESC, v.seq DESC LIMIT :limit;

-- name: nearness_of
WITH asked AS MATERIALIZED (SELECT recollect.as_vector(:row::text) AS embedding)
SELECT v.seq, MAX(recollect.nearness(v.embedding, a.embedding)) AS score
FROM vectors v, asked a WHERE v.embedder = :embedder AND v.seq = ANY (:seqs::bigint[])
GROUP BY v.seq;

-- name: begin_write
-- Whatever the server's default is: a writer must see that its token was revoked.
BEGIN ISOLATION LEVEL READ COMMITTED;

-- name: begin_read
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;

-- name: enter
SELECT space, seq, hash, at, since, verbs, origin, "user", agent
FROM recollect.enter(:named, :token, :writing);

-- name: token_holder
SELECT label, "user", login FROM recollect.token_holder();

-- name: append
SELECT recollect.append(:lines);

-- name: append_and_move
-- The append and where the index then stands: one statement, because most writes are small.
SELECT recollect.append_and_move(:lines, :active_us, :offset);

-- name: events
SELECT seq, header || body FROM recollect.events WHERE seq > :after ORDER BY seq;

-- name: event
SELECT header || body FROM recollect.events WHERE seq = :seq;

-- name: erase_bodies
SELECT recollect.erase_bodies(:seqs, :by);

-- name: last_seal
SELECT MAX(seq) FROM recollect.events
WHERE position('\x226b696e64223a226c65646765722e7365616c656422'::bytea IN header) > 0
HAVING MAX(seq) IS NOT NULL;

-- name: checkpoint_sizes
SELECT size FROM recollect.checkpoints ORDER BY size;

-- name: get_checkpoint
SELECT note FROM recollect.checkpoints WHERE size = :size;

-- name: keep_checkpoint
SELECT recollect.keep_checkpoint(:size, :note);

-- name: get_frontier
SELECT data FROM recollect.frontiers;

-- name: keep_frontier
SELECT recollect.keep_frontier(:data);

-- Subjects. Which events are encrypted for one is asked of their headers, all of them.

-- name: first_hash
SELECT left(right(encode(header, 'escape'), 65), 64) FROM recollect.events WHERE seq = 1;

-- name: events_of
SELECT seq, header || body FROM recollect.events WHERE seq = ANY (:seqs::bigint[]) ORDER BY seq;

-- name: encrypted_for
SELECT seq FROM recollect.events
WHERE split_part(encode(header, 'escape'), '"', 26) = ANY (:subjects::text[])
  AND position('\x2c2273616c74223a22'::bytea IN body) = 1
ORDER BY seq;

-- name: any_subject
SELECT pseudonym, cipher, key, name, made FROM recollect.subject_keys LIMIT 1;

-- name: subjects_tagged
SELECT pseudonym, cipher, key, name, made FROM recollect.subject_keys WHERE tag = :tag
ORDER BY made, pseudonym;

-- name: list_subjects
SELECT pseudonym, cipher, key, name, made FROM recollect.subject_keys ORDER BY made, pseudonym;

-- name: list_destroyed
SELECT pseudonym, by FROM recollect.destroyed_keys ORDER BY at, pseudonym;

-- name: keep_subject
SELECT recollect.keep_subject(:pseudonym, :cipher::integer, :tag, :key, :name, :made);

-- name: destroy_subjects
SELECT recollect.destroy_subjects(:subjects, :by);

-- name: empty_position
DELETE FROM position;

-- name: empty_commands
DELETE FROM commands;

-- name: empty_authors
DELETE FROM authors;

-- name: empty_notes
DELETE FROM notes;

-- name: empty_versions
DELETE FROM versions;

-- name: empty_tags
DELETE FROM tags;

-- name: empty_evidence
DELETE FROM evidence;

-- name: empty_resting
DELETE FROM resting;

-- name: empty_replaced
DELETE FROM replaced;

-- name: empty_ineffective
DELETE FROM ineffective;

-- name: empty_episodes
DELETE FROM episodes;

-- name: empty_hidden
DELETE FROM hidden;

-- name: empty_links
DELETE FROM links;

-- name: empty_frames
DELETE FROM frames;

-- name: empty_documents
DELETE FROM documents;

-- name: empty_passes
DELETE FROM passes;

-- name: empty_sessions
DELETE FROM sessions;

-- name: empty_proposals
DELETE FROM proposals;

-- name: empty_concerns
DELETE FROM concerns;

-- name: empty_branches
DELETE FROM branches;

-- name: empty_receipts
DELETE FROM receipts;

-- name: empty_erased
DELETE FROM erased;

-- name: empty_postings
DELETE FROM postings;

-- name: empty_shelves
DELETE FROM shelves;

-- Outside a space.

-- name: make_space
SELECT recollect.make_space(:named, :token);

-- name: spaces_of
SELECT recollect.spaces_of(:token);

-- name: heads
SELECT n.name, e.seq FROM unnest(CAST(:names AS text[])) AS n (name)
CROSS JOIN LATERAL recollect.enter(n.name, :token, false) AS e;

-- name: drop_space
SELECT name, at, who, seq, hash, first, tables, revoked FROM recollect.drop_space(:reason);

-- name: dropped_of
SELECT name, at, who, seq, hash, first, reason FROM recollect.dropped_of(:token);

-- name: token_state
SELECT state, since FROM recollect.token_state(:token);

-- name: token_of
SELECT * FROM recollect.token_of(:token);

-- name: tokens_for
SELECT * FROM recollect.tokens_for(:token);

-- name: create_token
SELECT id, made FROM recollect.create_token(
  :token, :hash, :label, :space, :verbs, :origin, :user, :agent, :expires::timestamptz
);

-- name: rotate_token_for
SELECT recollect.rotate_token(:token, :id, :hash, :overlap);

-- name: revoke_tokens
SELECT recollect.revoke_tokens(:token, :ids);

-- name: ask_job
SELECT * FROM recollect.ask_job(
  :token, :space, :kind, :params, :due::timestamptz, :origin, :most::integer
);

-- name: lease_job
SELECT * FROM recollect.lease_job(:token, :kinds, :seconds::float8, :most::integer);

-- name: report_job
SELECT recollect.report_job(
  :token, :id, :attempts::integer, :state, :seconds::float8, :done, :total, :error, :kept::integer
);

-- name: jobs_for
SELECT * FROM recollect.jobs_for(:token, :space, :id, :state, :limit);

-- name: cancel_job
SELECT recollect.cancel_job(:token, :space, :id);

-- name: set_schedule
SELECT recollect.set_schedule(
  :token, :space, :kind, :params, :cron, :every_s, :next_at::timestamptz
);

-- name: schedules_for
SELECT * FROM recollect.schedules_for(:token, :space, :due);

-- name: drop_schedule
SELECT recollect.drop_schedule(:token, :space, :kind);

-- name: fire_schedule
SELECT recollect.fire_schedule(:token, :space, :kind, :was::timestamptz, :next::timestamptz);

-- name: get_setting
SELECT current_setting(:name);

-- name: put_setting
SELECT set_config(:name, :value, false);

-- name: sync_commits
SET synchronous_commit = on;

-- name: see_one_space
SET search_path = recollect_here;

-- name: take_indexes
-- The planner takes a space for the whole table; a table of many spaces is never read as a whole.
SET enable_seqscan = off;

-- name: give_up_rights
SET ROLE recollect_app;

-- name: find_table
SELECT to_regclass(:name) IS NOT NULL;

-- name: get_revision
SELECT version_num FROM recollect.revision;

-- name: get_index_version
SELECT version FROM recollect.index_version;

-- As the owner of the database.

-- name: lock_schema
SELECT pg_advisory_xact_lock(7365636);

-- name: list_vacuums
-- Each table and the statement that writes it again with its indexes; the server spells the names.
-- The planner's statistics are among them: a release before this one let them keep samples of texts.
SELECT c.relname, format('VACUUM (FULL, VERBOSE) %I.%I', n.nspname, c.relname)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE (n.nspname = 'recollect' AND c.relkind = 'r')
  OR (n.nspname = 'pg_catalog' AND c.relname = 'pg_statistic')
ORDER BY n.nspname DESC, c.relname;

-- name: what_ages
-- What says how long the server's write-ahead log still holds what was deleted.
SELECT pg_catalog.current_setting('max_wal_size'), pg_catalog.current_setting('wal_keep_size'),
  pg_catalog.current_setting('archive_mode'),
  (SELECT count(*) FROM pg_catalog.pg_replication_slots);

-- name: stamp_revision
INSERT INTO recollect.revision (version_num) VALUES (:revision);

-- name: stamp_index
INSERT INTO recollect.index_version (version) VALUES (:version);

-- name: put_session_token
INSERT INTO recollect.tokens (hash, label, every_space, verbs, origin, expires)
VALUES (
  :hash, 'session', true, '{read,write,erase,create,drop,review,admin}', 'person',
  now() + make_interval(secs => :seconds)
)
ON CONFLICT (hash) DO UPDATE SET expires = EXCLUDED.expires;

-- name: drop_token
DELETE FROM recollect.tokens WHERE hash = :hash;

-- name: add_space
INSERT INTO recollect.spaces (name) VALUES (:name) ON CONFLICT (name) DO NOTHING;

-- name: tell_grant
SELECT format('GRANT recollect_app TO %I WITH SET TRUE, INHERIT FALSE', :login::text);

-- name: add_token
INSERT INTO recollect.tokens (
  hash, label, every_space, space, verbs, origin, "user", agent, expires
)
VALUES (
  :hash, :label, :space::text IS NULL, (SELECT id FROM recollect.spaces WHERE name = :space),
  :verbs, :origin, :user, :agent, :expires::timestamptz
)
RETURNING id, made;

-- name: list_tokens
SELECT t.id, t.label, coalesce(s.name, d.name), t.verbs, t.origin, t."user", t.agent, t.made, t.expires, t.revoked,
  t.revoked IS NULL AND (t.expires IS NULL OR t.expires > now())
FROM recollect.tokens t LEFT JOIN recollect.spaces s ON s.id = t.space
  LEFT JOIN recollect.dropped d ON d.id = t.space
ORDER BY t.id;

-- name: token_with_hash
SELECT t.id, t.label, coalesce(s.name, d.name), t.verbs, t.origin, t."user", t.agent, t.made, t.expires, t.revoked,
  t.revoked IS NULL AND (t.expires IS NULL OR t.expires > now())
FROM recollect.tokens t LEFT JOIN recollect.spaces s ON s.id = t.space
  LEFT JOIN recollect.dropped d ON d.id = t.space
WHERE t.hash = :hash;

-- name: lock_tokens
-- Two who rotate a token at the same time wait for each other.
LOCK TABLE recollect.tokens IN SHARE ROW EXCLUSIVE MODE;

-- name: rotate_token
-- A token like another one, valid for as long as that was; the other one ends after the overlap.
WITH old AS (
  UPDATE recollect.tokens SET
    expires = least(expires, now() + make_interval(secs => :overlap::double precision)),
    revoked = CASE WHEN :overlap::bigint = 0 THEN now() END
  WHERE id = :id AND revoked IS NULL RETURNING id
)
INSERT INTO recollect.tokens (
  hash, label, every_space, space, verbs, origin, "user", agent, expires
)
SELECT :hash, t.label, t.every_space, t.space, t.verbs, t.origin, t."user", t.agent,
  now() + (t.expires - t.made)
FROM recollect.tokens t JOIN old ON t.id = old.id;

-- name: revoke_token
UPDATE recollect.tokens SET revoked = now()
WHERE (label = :which OR id::text = :which) AND revoked IS NULL RETURNING id;
