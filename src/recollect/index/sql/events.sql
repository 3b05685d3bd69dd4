-- The list of events. Each part reads one table in the order of its events and stops after a page, so a
-- page takes the same time wherever it is. Beside each part stands what a list of one id (`of:`) or of one
-- user (`user:`) asks of it in place of TRUE; a list of the last events is the same in the other order.
-- `kinds` is '' for all, else the names between commas. Parts that belong to nobody in particular are left
-- out for one user.
--
-- When it happened, for which call and, where the part does not know it, with which origin is asked of
-- the command that holds the event: the next that ends.

-- name: list_events
SELECT u.seq,
  (SELECT c.at FROM commands c WHERE c.seq >= u.seq ORDER BY c.seq LIMIT 1),
  u.kind,
  COALESCE(u.origin, (SELECT c.origin FROM commands c WHERE c.seq >= u.seq ORDER BY c.seq LIMIT 1)),
  u.unit, u.id, u.what, u.text, u.key, u.trust, u."user", u.session, u.agent,
  (SELECT CASE WHEN c.marks <> '' THEN c.id END FROM commands c
    WHERE c.seq >= u.seq ORDER BY c.seq LIMIT 1),
  (SELECT c.author FROM commands c WHERE c.seq >= u.seq ORDER BY c.seq LIMIT 1)
FROM (
  SELECT * FROM (
    SELECT v.seq, 'record.' || v.what AS kind, v.origin, 'record' AS unit, v.id, v.what,
      SUBSTR(v.text, 1, :chars) AS text, v.key, v.trust, v."user", v.session, v.agent
    FROM full_versions v
    WHERE v.seq > :after AND v.seq < :before AND TRUE /* of: v.id = ID */
      AND TRUE /* user: v."user" = USER */
      AND (:kinds = '' OR :kinds LIKE '%,record.%') -- known before the first row is read
      AND (:kinds = '' OR :kinds LIKE '%,record.' || v.what || ',%')
    ORDER BY v.seq ASC LIMIT :limit
  ) AS records
  UNION ALL
  SELECT * FROM (
    SELECT e.seq, 'episode.observed', e.origin, 'episode', e.id, 'observed',
      SUBSTR(e.text, 1, :chars), NULL, e.trust, e."user", e.session, e.agent
    FROM episodes e
    WHERE e.seq > :after AND e.seq < :before AND TRUE /* of: e.id = ID */
      AND TRUE /* user: e."user" = USER */
      AND (:kinds = '' OR :kinds LIKE '%,episode.observed,%')
    ORDER BY e.seq ASC LIMIT :limit
  ) AS episodes
  UNION ALL
  SELECT * FROM (
    SELECT h.seq, 'episode.forgotten', h.origin, 'episode', e.id, 'forgotten',
      SUBSTR(e.text, 1, :chars), NULL, e.trust, e."user", e.session, e.agent
    FROM hidden h JOIN episodes e ON e.id = h.episode
    WHERE h.why = 'forgotten' AND h.seq > :after AND h.seq < :before
      AND TRUE /* of: h.episode = ID */
      AND TRUE /* user: e."user" = USER */
      AND (:kinds = '' OR :kinds LIKE '%,episode.forgotten,%')
    ORDER BY h.seq ASC LIMIT :limit
  ) AS forgotten
  UNION ALL
  SELECT * FROM (
    SELECT h.until, 'episode.restored', NULL, 'episode', e.id, 'restored',
      SUBSTR(e.text, 1, :chars), NULL, e.trust, e."user", e.session, e.agent
    FROM hidden h JOIN episodes e ON e.id = h.episode
    WHERE h.why = 'forgotten' AND h.until < 9007199254740991
      AND h.until > :after AND h.until < :before AND TRUE /* of: h.episode = ID */
      AND TRUE /* user: e."user" = USER */
      AND (:kinds = '' OR :kinds LIKE '%,episode.restored,%')
    ORDER BY h.until ASC LIMIT :limit
  ) AS restored
  UNION ALL
  SELECT * FROM (
    SELECT l.seq, 'link.added', NULL, 'link', l.source, 'added',
      SUBSTR(l.source || ' ' || l.kind || ' ' || l.target, 1, :chars),
      NULL, l.trust,
      (SELECT v."user" FROM versions v WHERE v.id = l.source ORDER BY v.seq LIMIT 1),
      NULL, NULL
    FROM links l
    WHERE l.seq > :after AND l.seq < :before AND TRUE /* of: (l.source = ID OR l.target = ID) */
      AND (:kinds = '' OR :kinds LIKE '%,link.added,%')
      AND TRUE /* user: EXISTS (SELECT 1 FROM versions v WHERE v.id = l.source AND v."user" = USER)
        AND EXISTS (SELECT 1 FROM versions v WHERE v.id = l.target AND v."user" = USER) */
    ORDER BY l.seq ASC LIMIT :limit
  ) AS linked
  UNION ALL
  SELECT * FROM (
    SELECT l.until, 'link.removed', NULL, 'link', l.source, 'removed',
      SUBSTR(l.source || ' ' || l.kind || ' ' || l.target, 1, :chars),
      NULL, l.trust,
      (SELECT v."user" FROM versions v WHERE v.id = l.source ORDER BY v.seq LIMIT 1),
      NULL, NULL
    FROM links l
    WHERE l.until < 9007199254740991 AND l.until > :after AND l.until < :before
      AND TRUE /* of: (l.source = ID OR l.target = ID) */
      AND NOT EXISTS (SELECT 1 FROM links n WHERE n.seq = l.until)
      AND (:kinds = '' OR :kinds LIKE '%,link.removed,%')
      AND TRUE /* user: EXISTS (SELECT 1 FROM versions v WHERE v.id = l.source AND v."user" = USER)
        AND EXISTS (SELECT 1 FROM versions v WHERE v.id = l.target AND v."user" = USER) */
    ORDER BY l.until ASC LIMIT :limit
  ) AS unlinked
  UNION ALL
  SELECT * FROM (
    SELECT r.seq, 'context.handed', NULL, 'receipt', r.id, 'handed',
      NULL, NULL, NULL, r."user", r.session, r.agent
    FROM receipts r
    WHERE r.seq > :after AND r.seq < :before AND TRUE /* of: r.id = ID */
      AND TRUE /* user: r."user" = USER */
      AND (:kinds = '' OR :kinds LIKE '%,context.handed,%')
    ORDER BY r.seq ASC LIMIT :limit
  ) AS handed
  UNION ALL
  SELECT * FROM (
    SELECT f.seq, 'frame.set', NULL, 'preset', f.name, 'set', NULL,
      NULL, f.trust, NULL, NULL, NULL
    FROM presets f
    WHERE f.seq > :after AND f.seq < :before AND TRUE /* of: f.name = ID */
      AND TRUE /* user: FALSE */ AND (:kinds = '' OR :kinds LIKE '%,frame.set,%')
    ORDER BY f.seq ASC LIMIT :limit
  ) AS presets
  UNION ALL
  SELECT * FROM (
    SELECT f.until, 'frame.dropped', NULL, 'preset', f.name, 'dropped', NULL,
      NULL, f.trust, NULL, NULL, NULL
    FROM presets f
    WHERE f.until < 9007199254740991 AND f.until > :after AND f.until < :before
      AND TRUE /* of: f.name = ID */ AND NOT EXISTS (SELECT 1 FROM presets n WHERE n.seq = f.until)
      AND TRUE /* user: FALSE */ AND (:kinds = '' OR :kinds LIKE '%,frame.dropped,%')
    ORDER BY f.until ASC LIMIT :limit
  ) AS unframed
  UNION ALL
  SELECT * FROM (
    SELECT d.seq, 'document.set', NULL, 'document', d.type || '/' || d.name, 'set',
      NULL, NULL, d.trust, NULL, NULL,
      NULL
    FROM documents d
    WHERE d.seq > :after AND d.seq < :before AND TRUE /* of: d.type || '/' || d.name = ID */
      AND TRUE /* user: FALSE */ AND (:kinds = '' OR :kinds LIKE '%,document.set,%')
    ORDER BY d.seq ASC LIMIT :limit
  ) AS documents
  UNION ALL
  SELECT * FROM (
    SELECT d.until, 'document.dropped', NULL, 'document', d.type || '/' || d.name,
      'dropped', NULL, NULL, d.trust, NULL,
      NULL, NULL
    FROM documents d
    WHERE d.until < 9007199254740991 AND d.until > :after AND d.until < :before
      AND TRUE /* of: d.type || '/' || d.name = ID */
      AND NOT EXISTS (SELECT 1 FROM documents n WHERE n.seq = d.until)
      AND TRUE /* user: FALSE */ AND (:kinds = '' OR :kinds LIKE '%,document.dropped,%')
    ORDER BY d.until ASC LIMIT :limit
  ) AS undocumented
  UNION ALL
  SELECT * FROM (
    SELECT p.seq, 'rule.passed', NULL, 'document', 'rules/' || p.rule, 'passed',
      NULL, NULL, NULL, NULL,
      NULL, NULL
    FROM passes p
    WHERE p.seq > :after AND p.seq < :before AND TRUE /* of: 'rules/' || p.rule = ID */
      AND TRUE /* user: FALSE */ AND (:kinds = '' OR :kinds LIKE '%,rule.passed,%')
    ORDER BY p.seq ASC LIMIT :limit
  ) AS passes
  UNION ALL
  SELECT * FROM (
    SELECT s.opened, 'session.opened', NULL, 'session', s.id, 'opened',
      s.task_type, NULL, NULL, NULLIF(s."user", ''), s.id,
      NULL
    FROM sessions s
    WHERE s.opened < 9007199254740991 AND s.opened > :after AND s.opened < :before
      AND TRUE /* of: s.id = ID */ AND TRUE /* user: s."user" = USER */
      AND (:kinds = '' OR :kinds LIKE '%,session.opened,%')
    ORDER BY s.opened ASC LIMIT :limit
  ) AS opened
  UNION ALL
  SELECT * FROM (
    SELECT s.closed, 'session.closed', NULL, 'session', s.id, 'closed',
      NULL, NULL, NULL, NULLIF(s."user", ''), s.id,
      NULL
    FROM sessions s
    WHERE s.opened < 9007199254740991 AND s.closed < 9007199254740991 AND s.closed > :after AND s.closed < :before
      AND TRUE /* of: s.id = ID */ AND TRUE /* user: s."user" = USER */
      AND (:kinds = '' OR :kinds LIKE '%,session.closed,%')
    ORDER BY s.closed ASC LIMIT :limit
  ) AS closed
  UNION ALL
  SELECT * FROM (
    SELECT p.seq, 'proposal.made', p.origin, 'proposal', p.id, 'made',
      SUBSTR(p.text, 1, :chars), p.key, p.trust, p."user", p.session, p.agent
    FROM proposals p
    WHERE p.seq > :after AND p.seq < :before AND TRUE /* of: (p.id = ID OR p.target = ID) */
      AND TRUE /* user: p."user" = USER */ AND (:kinds = '' OR :kinds LIKE '%,proposal.made,%')
    ORDER BY p.seq ASC LIMIT :limit
  ) AS proposed
  UNION ALL
  SELECT * FROM (
    SELECT p.until, 'proposal.' || p.outcome, p.settled_by, 'proposal', p.id, p.outcome,
      SUBSTR(p.text, 1, :chars), p.key, p.trust, p."user", NULL,
      NULL
    FROM proposals p
    WHERE p.until < 9007199254740991 AND p.until > :after AND p.until < :before
      AND TRUE /* of: (p.id = ID OR p.target = ID) */ AND TRUE /* user: p."user" = USER */
      AND (:kinds = '' OR :kinds LIKE '%,proposal.' || p.outcome || ',%')
    ORDER BY p.until ASC LIMIT :limit
  ) AS settled
  UNION ALL
  SELECT * FROM (
    SELECT b.seq, 'branch.opened', b.origin, 'branch', b.id, 'opened',
      SUBSTR(b.name, 1, :chars), NULL, NULL, b."user",
      b.session, b.agent
    FROM branches b
    WHERE b.seq > :after AND b.seq < :before AND TRUE /* of: b.id = ID */
      AND TRUE /* user: b."user" = USER */ AND (:kinds = '' OR :kinds LIKE '%,branch.opened,%')
    ORDER BY b.seq ASC LIMIT :limit
  ) AS branched
  UNION ALL
  SELECT * FROM (
    SELECT b.until, 'branch.closed', b.closed_by, 'branch', b.id, 'closed',
      SUBSTR(b.name, 1, :chars), NULL, NULL, b."user",
      NULL, NULL
    FROM branches b
    WHERE b.until < 9007199254740991 AND b.until > :after AND b.until < :before
      AND TRUE /* of: b.id = ID */ AND TRUE /* user: b."user" = USER */
      AND (:kinds = '' OR :kinds LIKE '%,branch.closed,%')
    ORDER BY b.until ASC LIMIT :limit
  ) AS unbranched
  UNION ALL
  SELECT * FROM (
    SELECT x.by, 'events.erased', NULL, 'ledger', NULL, 'erased',
      NULL, NULL, NULL, NULL,
      NULL, NULL
    FROM erased x
    WHERE x.by > :after AND x.by < :before AND TRUE /* of: FALSE */
      AND TRUE /* user: FALSE */ AND (:kinds = '' OR :kinds LIKE '%,events.erased,%')
    GROUP BY x.by ORDER BY x.by ASC LIMIT :limit
  ) AS erasing
  UNION ALL
  SELECT * FROM (
    SELECT n.seq, n.kind, NULL, 'ledger', NULL, n.what,
      NULL, NULL, NULL, NULL,
      NULL, NULL
    FROM notes n
    WHERE n.seq > :after AND n.seq < :before AND TRUE /* of: FALSE */
      AND TRUE /* user: FALSE */ AND (:kinds = '' OR :kinds LIKE '%,' || n.kind || ',%')
    ORDER BY n.seq ASC LIMIT :limit
  ) AS noted
  UNION ALL
  SELECT * FROM (
    SELECT a.seq, 'author.named', NULL, 'author', a.id, 'named',
      SUBSTR(a.name, 1, :chars), NULL, NULL, a."user",
      NULL, NULL
    FROM authors a
    WHERE a.seq > :after AND a.seq < :before AND TRUE /* of: a.id = ID */
      AND TRUE /* user: a."user" = USER */ AND (:kinds = '' OR :kinds LIKE '%,author.named,%')
    ORDER BY a.seq ASC LIMIT :limit
  ) AS authored
  UNION ALL
  SELECT * FROM ( -- what these were stands in the headers of the ledger alone
    SELECT x.seq, NULL, NULL, NULL, NULL,
      NULL, NULL, NULL, NULL,
      NULL, NULL, NULL
    FROM erased x
    WHERE x.seq > :after AND x.seq < :before AND TRUE /* of: FALSE */
      AND TRUE /* user: FALSE */ AND :kinds = ''
    ORDER BY x.seq ASC LIMIT :limit
  ) AS erased
  ORDER BY seq ASC LIMIT :limit
) AS u
ORDER BY u.seq;
