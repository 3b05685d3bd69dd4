-- What the digests of the index are over, always in the same order.

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

-- name: digest_presets
SELECT * FROM presets WHERE seq <= :at ORDER BY seq;

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

-- name: log_notes
SELECT seq, kind, what FROM notes ORDER BY seq;

-- name: log_hidden
SELECT episode, seq, origin FROM hidden WHERE why = 'forgotten' ORDER BY episode, seq;

-- name: log_commands
SELECT seq, origin, author FROM commands ORDER BY seq;

-- name: log_authors
SELECT seq, id, name, checked, "user" FROM authors ORDER BY seq;

-- name: log_ineffective
SELECT seq, record FROM ineffective ORDER BY seq;

-- name: log_offsets
SELECT seq, tz_minutes FROM versions ORDER BY seq;

-- name: log_transient
SELECT seq, transient FROM episodes ORDER BY seq;
