-- What the fold writes. Each binds by position.

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

-- name: drop_author
DELETE FROM authors WHERE seq = ?;

-- name: add_note
INSERT INTO notes (seq, kind, what) VALUES (?, ?, ?);

-- name: drop_note
DELETE FROM notes WHERE seq = ?;

-- name: add_erased
INSERT INTO erased (seq, by) VALUES (?, ?);

-- name: add_version
INSERT INTO versions (/* columns: names */) VALUES (/* columns: values */);

-- name: end_version
UPDATE versions SET until = ? WHERE seq = ?;

-- name: drop_versions
DELETE FROM versions WHERE id = ?;

-- name: add_tag
INSERT INTO tags (tag, record, seq, until) VALUES (?, ?, ?, ?);

-- name: end_tag
UPDATE tags SET until = ? WHERE tag = ? AND record = ? AND until = 9007199254740991;

-- name: drop_tags
DELETE FROM tags WHERE record = ?;

-- name: add_ineffective
INSERT INTO ineffective (seq, record) VALUES (?, ?);

-- name: drop_ineffective
DELETE FROM ineffective WHERE seq = ?;

-- name: drop_ineffective_of
DELETE FROM ineffective WHERE record = ?;

-- name: add_evidence
INSERT INTO evidence (episode, record, seq, text_seq) VALUES (?, ?, ?, ?);

-- name: drop_evidence
DELETE FROM evidence WHERE record = ?;

-- name: add_resting
INSERT INTO resting (episode, record, now) VALUES (?, ?, ?);

-- name: drop_resting
DELETE FROM resting WHERE episode = ? AND record = ?;

-- name: drop_resting_on
DELETE FROM resting WHERE episode = ?;

-- name: add_replaced
INSERT INTO replaced (token, record, text_seq, by) VALUES (?, ?, ?, ?)
ON CONFLICT DO NOTHING;

-- name: drop_replaced
DELETE FROM replaced WHERE record = ?;

-- name: drop_replaced_by
DELETE FROM replaced WHERE by = ?;

-- name: add_episode
INSERT INTO episodes (
  id, seq, text, role, "user", session, agent, said_at, at, metadata, origin, trust, transient
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: drop_episode
DELETE FROM episodes WHERE id = ?;

-- name: add_hidden
INSERT INTO hidden (episode, why, seq, until, origin) VALUES (?, ?, ?, ?, ?);

-- name: end_hidden
UPDATE hidden SET until = ? WHERE episode = ? AND why = ? AND until = 9007199254740991;

-- name: drop_hidden
DELETE FROM hidden WHERE episode = ?;

-- name: drop_shadows
DELETE FROM hidden WHERE episode = ? AND why = 'shadowed';

-- name: add_link
INSERT INTO links (source, target, kind, seq, until, weight, trust, at, reinforcement_count, name)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: end_link
UPDATE links SET until = ? WHERE source = ? AND target = ? AND kind = ?
  AND until = 9007199254740991;

-- name: drop_link
DELETE FROM links WHERE seq = ?;

-- name: add_preset
INSERT INTO presets (
  name, seq, until, at, trust, weights, "where", unit, guarantees, tokens, template, cache, floor
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: end_preset
UPDATE presets SET until = ? WHERE name = ? AND until = 9007199254740991;

-- name: drop_preset
DELETE FROM presets WHERE name = ?;

-- name: add_document
INSERT INTO documents (type, name, seq, until, at, trust, data) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: end_document
UPDATE documents SET until = ? WHERE type = ? AND name = ? AND until = 9007199254740991;

-- name: drop_document
DELETE FROM documents WHERE type = ? AND name = ?;

-- name: add_pass
INSERT INTO passes (rule, seq, until, at, through, seen, made, skipped)
VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: end_pass
UPDATE passes SET until = ? WHERE rule = ? AND until = 9007199254740991;

-- name: drop_passes
DELETE FROM passes WHERE rule = ?;

-- name: name_session
INSERT INTO sessions (id, "user", seq) VALUES (?, ?, ?)
ON CONFLICT DO NOTHING;

-- name: open_session
UPDATE sessions SET opened = ?, task_type = ?, hours = ? WHERE id = ? AND "user" = ?;

-- name: close_session
UPDATE sessions SET closed = ? WHERE id = ? AND "user" = ?;

-- name: move_session
UPDATE sessions SET seq = ? WHERE id = ? AND "user" = ?;

-- name: drop_session
DELETE FROM sessions WHERE id = ? AND "user" = ?;

-- name: add_proposal
INSERT INTO proposals (
  id, seq, at, origin, intent, trust, target, base, text, key, kind, about, evidence, spans, rule,
  confidence, reason, changes, "user", session, agent, until, branch
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: end_proposal
UPDATE proposals SET until = ?, outcome = ?, settled_by = ?, settled_at = ?, note = ?, record = ?
WHERE id = ?;

-- name: reopen_proposal
UPDATE proposals SET until = 9007199254740991, outcome = NULL, settled_by = NULL, settled_at = NULL,
  note = NULL, record = NULL
WHERE id = ?;

-- name: drop_proposal
DELETE FROM proposals WHERE id = ?;

-- name: add_concern
INSERT INTO concerns (subject, proposal, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING;

-- name: drop_concern
DELETE FROM concerns WHERE proposal = ? AND seq = ?;

-- name: drop_concerns
DELETE FROM concerns WHERE proposal = ?;

-- name: add_branch
INSERT INTO branches (id, seq, at, origin, name, parent, reason, "user", session, agent, until)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: end_branch
UPDATE branches SET until = ?, how = ?, closed_by = ?, closed_at = ?, note = ?, record = ?
WHERE id = ?;

-- name: reopen_branch
UPDATE branches SET until = 9007199254740991, how = NULL, closed_by = NULL, closed_at = NULL,
  note = NULL, record = NULL
WHERE id = ?;

-- name: drop_branch
DELETE FROM branches WHERE id = ?;

-- name: add_receipt
INSERT INTO receipts (
  id, seq, at, "user", session, agent, query, preset, preset_digest, ranking, embedder, now, position,
  budget, tokens, counter, signals, items
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: drop_receipt
DELETE FROM receipts WHERE seq = ?;

-- name: shelve_recallable
INSERT INTO recallable (rowid, tokens, facts) VALUES (?, ?, ?);

-- name: shelve_rest
INSERT INTO rest (rowid, tokens) VALUES (?, ?);

-- name: unshelve_recallable
-- It has its own copy of the tokens, so those that are given are not needed.
DELETE FROM recallable WHERE rowid = ? AND ? IS NOT NULL;

-- name: unshelve_rest
INSERT INTO rest (rest, rowid, tokens) VALUES ('delete', ?, ?);

-- name: merge_recallable
INSERT INTO recallable (recallable) VALUES ('optimize');

-- name: vacuum
VACUUM;

-- name: merge_rest
INSERT INTO rest (rest) VALUES ('optimize');
