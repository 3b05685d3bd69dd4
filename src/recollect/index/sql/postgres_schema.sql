-- The index of every space, on PostgreSQL: the tables of schema.sql with `space` first in every key.
-- Derived from the ledgers: never migrated, only made anew and refolded space by space. So the script
-- begins with taking down what another release made: each table that has a view, and the views.
--
-- Statements do not see these tables. They see views of the same names, without the column `space`,
-- that hold the one space the transaction asks for. Row-level security is the second lock: it asks
-- whether that space was entered.

DO $$
DECLARE
  old text;
BEGIN
  FOR old IN SELECT viewname FROM pg_views WHERE schemaname = 'recollect_here' LOOP
    EXECUTE format('DROP TABLE IF EXISTS recollect.%I CASCADE', old);
  END LOOP;
END
$$;
DROP SCHEMA IF EXISTS recollect_here CASCADE;
DROP TABLE IF EXISTS recollect.index_version;

-- The version of these tables: one row.
CREATE TABLE recollect.index_version (version bigint NOT NULL);
GRANT SELECT ON recollect.index_version TO recollect_app;

CREATE TABLE recollect.position (
  space bigint PRIMARY KEY,
  version bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  hash text COLLATE "C" NOT NULL,
  at text COLLATE "C" NOT NULL,
  active_us bigint NOT NULL,
  "offset" bigint NOT NULL,
  purged bigint NOT NULL
);

CREATE TABLE recollect.commands (
  space bigint NOT NULL,
  seq bigint NOT NULL,
  first bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  marks text COLLATE "C" NOT NULL,
  at text COLLATE "C" NOT NULL,
  active_us bigint NOT NULL,
  origin text COLLATE "C" NOT NULL,
  author text COLLATE "C",
  PRIMARY KEY (space, seq)
);
CREATE INDEX commands_by_id ON recollect.commands (space, id);

CREATE TABLE recollect.authors (
  space bigint NOT NULL,
  seq bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  checked text COLLATE "C",
  "user" text COLLATE "C",
  PRIMARY KEY (space, seq)
);
CREATE INDEX authors_by_id ON recollect.authors (space, id);
CREATE INDEX authors_by_name ON recollect.authors (space, name);

CREATE TABLE recollect.notes (
  space bigint NOT NULL,
  seq bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  what text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, seq)
);

CREATE TABLE recollect.versions (
  space bigint NOT NULL,
  /* columns: defined for postgres */,
  PRIMARY KEY (space, seq)
);
CREATE INDEX versions_by_id ON recollect.versions (space, id, seq);
CREATE INDEX versions_superseded ON recollect.versions (space, superseded_by)
  WHERE superseded_by IS NOT NULL;
CREATE INDEX versions_held ON recollect.versions (space, seq) WHERE status = 'held';
CREATE INDEX versions_reviewed ON recollect.versions (space, id) WHERE what IN ('reviewed', 'vouched');
-- Which keys a person has vouched for; however often an agent wrote under one, it reads one row.
CREATE INDEX versions_vouched ON recollect.versions (space, key, "user")
  WHERE trust = 'person' AND what IN ('added', 'reviewed', 'vouched') AND key IS NOT NULL;
-- With what a decision wants of them: however many records had a key or say the same, it reads one.
CREATE INDEX versions_by_content ON recollect.versions (space, content_id, status, "user", id)
  WHERE until = 9007199254740991;
CREATE INDEX versions_about ON recollect.versions (space, about, status, "user", seq)
  WHERE until = 9007199254740991 AND about IS NOT NULL;
CREATE INDEX versions_by_key ON recollect.versions (space, key, status, "user")
  WHERE until = 9007199254740991 AND key IS NOT NULL;
-- Records that were not said when they were written, by the instant.
CREATE INDEX versions_keyed ON recollect.versions (space, key, until) WHERE key IS NOT NULL;
CREATE INDEX versions_by_instant ON recollect.versions (space, said_at, seq)
  WHERE said_at IS NOT NULL;
CREATE INDEX versions_of_user ON recollect.versions (space, "user", said_at, seq)
  WHERE "user" IS NOT NULL AND said_at IS NOT NULL;
-- What was changed last in one scope of the space, and the list of events of one user.
CREATE INDEX versions_by_user ON recollect.versions (space, "user", seq) WHERE "user" IS NOT NULL;
CREATE INDEX versions_by_session ON recollect.versions (space, session, seq)
  WHERE session IS NOT NULL;
CREATE INDEX versions_by_agent ON recollect.versions (space, agent, seq) WHERE agent IS NOT NULL;

CREATE TABLE recollect.tags (
  space bigint NOT NULL,
  tag text COLLATE "C" NOT NULL,
  record text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  until bigint NOT NULL,
  PRIMARY KEY (space, tag, record, seq)
);
-- Here and below `until` stands in a key so that what holds now is found at once, however often a tag,
-- a link, a frame or a shadow came and went.
CREATE INDEX tags_by_record ON recollect.tags (space, record, tag, until);

CREATE TABLE recollect.evidence (
  space bigint NOT NULL,
  episode text COLLATE "C" NOT NULL,
  record text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  text_seq bigint NOT NULL,
  PRIMARY KEY (space, episode, record, seq)
);
CREATE INDEX evidence_by_record ON recollect.evidence (space, record, text_seq);

CREATE TABLE recollect.resting (
  space bigint NOT NULL,
  episode text COLLATE "C" NOT NULL,
  record text COLLATE "C" NOT NULL,
  now bigint NOT NULL,
  PRIMARY KEY (space, episode, record)
);
CREATE INDEX resting_now ON recollect.resting (space, episode) WHERE now = 1;

CREATE TABLE recollect.replaced (
  space bigint NOT NULL,
  token text COLLATE "C" NOT NULL,
  record text COLLATE "C" NOT NULL,
  text_seq bigint NOT NULL,
  by text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, token, text_seq, record, by)
);
CREATE INDEX replaced_of ON recollect.replaced (space, record);
CREATE INDEX replaced_by ON recollect.replaced (space, by);

CREATE TABLE recollect.ineffective (
  space bigint NOT NULL,
  seq bigint NOT NULL,
  record text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, seq)
);
CREATE INDEX ineffective_of ON recollect.ineffective (space, record);

CREATE TABLE recollect.episodes (
  space bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  text text COLLATE "C" NOT NULL,
  role text COLLATE "C" NOT NULL,
  "user" text COLLATE "C",
  session text COLLATE "C",
  agent text COLLATE "C",
  said_at text COLLATE "C" NOT NULL,
  at text COLLATE "C" NOT NULL,
  metadata text COLLATE "C" NOT NULL,
  origin text COLLATE "C" NOT NULL,
  trust text COLLATE "C" NOT NULL,
  transient bigint NOT NULL,
  PRIMARY KEY (space, seq)
);
CREATE UNIQUE INDEX episodes_by_id ON recollect.episodes (space, id);
CREATE INDEX episodes_by_session ON recollect.episodes (space, session, COALESCE("user", ''), seq)
  WHERE session IS NOT NULL AND trust <> 'unverified';
CREATE INDEX episodes_in_sessions ON recollect.episodes (space, seq, session, "user")
  WHERE session IS NOT NULL AND trust <> 'unverified';
-- What was said last, in the whole space or in one scope of it.
CREATE INDEX episodes_by_instant ON recollect.episodes (space, said_at, seq);
CREATE INDEX episodes_by_user ON recollect.episodes (space, "user", said_at, seq)
  WHERE "user" IS NOT NULL;
CREATE INDEX episodes_of_session ON recollect.episodes (space, session, said_at, seq)
  WHERE session IS NOT NULL;
CREATE INDEX episodes_by_agent ON recollect.episodes (space, agent, said_at, seq)
  WHERE agent IS NOT NULL;
-- The list of events of one user, in their order.
CREATE INDEX episodes_of_user ON recollect.episodes (space, "user", seq) WHERE "user" IS NOT NULL;

CREATE TABLE recollect.hidden (
  space bigint NOT NULL,
  episode text COLLATE "C" NOT NULL,
  why text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  until bigint NOT NULL,
  origin text COLLATE "C",
  PRIMARY KEY (space, episode, until, why, seq)
);

-- Here and below: events that ended something are listed too, in their order.
CREATE INDEX hidden_events ON recollect.hidden (space, seq) WHERE why = 'forgotten';
CREATE INDEX hidden_ends ON recollect.hidden (space, until)
  WHERE why = 'forgotten' AND until < 9007199254740991;

CREATE TABLE recollect.links (
  space bigint NOT NULL,
  source text COLLATE "C" NOT NULL,
  target text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  until bigint NOT NULL,
  weight double precision NOT NULL,
  trust text COLLATE "C" NOT NULL,
  at text COLLATE "C" NOT NULL,
  reinforcement_count bigint NOT NULL,
  name text COLLATE "C",
  PRIMARY KEY (space, seq)
);
CREATE INDEX links_by_source ON recollect.links (space, source, target, kind, until);
CREATE INDEX links_by_target ON recollect.links (space, target, source, kind, until);
-- No index ends with seq, as in SQLite: the server would take it for one link of a small table,
-- and keep that plan when a record has many.
CREATE INDEX links_ends ON recollect.links (space, until) WHERE until < 9007199254740991;

CREATE TABLE recollect.frames (
  space bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  until bigint NOT NULL,
  at text COLLATE "C" NOT NULL,
  trust text COLLATE "C" NOT NULL,
  weights text COLLATE "C" NOT NULL,
  "where" text COLLATE "C",
  unit text COLLATE "C" NOT NULL,
  guarantees text COLLATE "C" NOT NULL,
  tokens bigint NOT NULL,
  template text COLLATE "C" NOT NULL,
  cache text COLLATE "C" NOT NULL,
  floor double precision NOT NULL,
  PRIMARY KEY (space, seq)
);
CREATE INDEX frames_by_name ON recollect.frames (space, name, until);
CREATE INDEX frames_ends ON recollect.frames (space, until) WHERE until < 9007199254740991;

CREATE TABLE recollect.documents (
  space bigint NOT NULL,
  type text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  until bigint NOT NULL,
  at text COLLATE "C" NOT NULL,
  trust text COLLATE "C" NOT NULL,
  data text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, seq)
);
CREATE INDEX documents_by_name ON recollect.documents (space, type, name, until);
CREATE INDEX documents_ends ON recollect.documents (space, until) WHERE until < 9007199254740991;

CREATE TABLE recollect.passes (
  space bigint NOT NULL,
  rule text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  until bigint NOT NULL,
  at text COLLATE "C" NOT NULL,
  through bigint NOT NULL,
  seen bigint NOT NULL,
  made bigint NOT NULL,
  skipped bigint NOT NULL,
  PRIMARY KEY (space, seq)
);
CREATE INDEX passes_of_rule ON recollect.passes (space, rule, until);

CREATE TABLE recollect.sessions (
  space bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  "user" text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  opened bigint NOT NULL DEFAULT 9007199254740991,
  closed bigint NOT NULL DEFAULT 9007199254740991,
  task_type text COLLATE "C",
  hours double precision,
  PRIMARY KEY (space, seq)
);
CREATE UNIQUE INDEX sessions_by_id ON recollect.sessions (space, id, "user");
CREATE INDEX sessions_of_user ON recollect.sessions (space, "user", seq);
CREATE INDEX sessions_opened ON recollect.sessions (space, opened)
  WHERE opened < 9007199254740991;
-- The open ones, whatever their number, and the events that closed one, in their order.
CREATE INDEX sessions_closed ON recollect.sessions (space, closed, opened)
  WHERE opened < 9007199254740991;
CREATE INDEX sessions_closed_of_user ON recollect.sessions (space, "user", closed, opened)
  WHERE opened < 9007199254740991;

CREATE TABLE recollect.proposals (
  space bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  at text COLLATE "C" NOT NULL,
  origin text COLLATE "C" NOT NULL,
  intent text COLLATE "C" NOT NULL,
  trust text COLLATE "C" NOT NULL,
  target text COLLATE "C",
  base bigint,
  text text COLLATE "C",
  key text COLLATE "C",
  kind text COLLATE "C",
  about text COLLATE "C",
  evidence text COLLATE "C" NOT NULL,
  spans text COLLATE "C" NOT NULL,
  rule text COLLATE "C",
  confidence double precision,
  reason text COLLATE "C",
  changes text COLLATE "C" NOT NULL,
  "user" text COLLATE "C",
  session text COLLATE "C",
  agent text COLLATE "C",
  until bigint NOT NULL,
  outcome text COLLATE "C",
  settled_by text COLLATE "C",
  settled_at text COLLATE "C",
  note text COLLATE "C",
  record text COLLATE "C",
  branch text COLLATE "C",
  PRIMARY KEY (space, seq)
);
CREATE UNIQUE INDEX proposals_by_id ON recollect.proposals (space, id);
CREATE INDEX proposals_waiting ON recollect.proposals (space, seq)
  WHERE until = 9007199254740991 AND branch IS NULL;
CREATE INDEX proposals_on_branch ON recollect.proposals (space, branch, seq) WHERE branch IS NOT NULL;
CREATE INDEX proposals_ends ON recollect.proposals (space, until) WHERE until < 9007199254740991;

CREATE TABLE recollect.concerns (
  space bigint NOT NULL,
  subject text COLLATE "C" NOT NULL,
  proposal text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY (space, subject, proposal)
);
CREATE INDEX concerns_by_proposal ON recollect.concerns (space, proposal);

CREATE TABLE recollect.branches (
  space bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  at text COLLATE "C" NOT NULL,
  origin text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  parent text COLLATE "C",
  reason text COLLATE "C",
  "user" text COLLATE "C",
  session text COLLATE "C",
  agent text COLLATE "C",
  until bigint NOT NULL,
  how text COLLATE "C",
  closed_by text COLLATE "C",
  closed_at text COLLATE "C",
  note text COLLATE "C",
  record text COLLATE "C",
  PRIMARY KEY (space, seq)
);
CREATE UNIQUE INDEX branches_by_id ON recollect.branches (space, id);
CREATE INDEX branches_named ON recollect.branches (space, name);
CREATE INDEX branches_closed ON recollect.branches (space, until) WHERE until < 9007199254740991;

CREATE TABLE recollect.receipts (
  space bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  at text COLLATE "C" NOT NULL,
  "user" text COLLATE "C",
  session text COLLATE "C",
  agent text COLLATE "C",
  query text COLLATE "C" NOT NULL,
  frame text COLLATE "C" NOT NULL,
  frame_digest text COLLATE "C" NOT NULL,
  ranking bigint NOT NULL,
  embedder text COLLATE "C",
  now text COLLATE "C" NOT NULL,
  position bigint NOT NULL,
  budget bigint NOT NULL,
  tokens bigint NOT NULL,
  counter text COLLATE "C" NOT NULL,
  signals text COLLATE "C" NOT NULL,
  items text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, seq)
);
CREATE UNIQUE INDEX receipts_by_id ON recollect.receipts (space, id);
CREATE INDEX receipts_of_user ON recollect.receipts (space, "user", seq) WHERE "user" IS NOT NULL;
CREATE INDEX receipts_by_session ON recollect.receipts (space, session, seq)
  WHERE session IS NOT NULL;

CREATE TABLE recollect.erased (
  space bigint NOT NULL,
  seq bigint NOT NULL,
  by bigint NOT NULL,
  PRIMARY KEY (space, seq)
);
CREATE INDEX erased_by ON recollect.erased (space, by);

-- Full text over tokens that Python made: how often each stands in a text, and how long that is.
-- Two shelves, so that what may not be recalled moves no statistic of what may.
CREATE TABLE recollect.postings (
  space bigint NOT NULL,
  shelf text COLLATE "C" NOT NULL,
  token text COLLATE "C" NOT NULL,
  doc bigint NOT NULL,
  times integer NOT NULL,
  length integer NOT NULL,
  PRIMARY KEY (space, shelf, token, doc)
);

CREATE TABLE recollect.shelves (
  space bigint NOT NULL,
  shelf text COLLATE "C" NOT NULL,
  docs bigint NOT NULL,
  tokens bigint NOT NULL,
  PRIMARY KEY (space, shelf)
);

CREATE SCHEMA recollect_here;
GRANT USAGE ON SCHEMA recollect_here TO recollect_app;
