-- The index of one space. Derived from its ledger: never migrated, only rebuilt (see
-- recollect.index.statements.INDEX_VERSION). `seq` is the event that made a row, `until` the
-- event that ended it; 9007199254740991 stands for "still so".

CREATE TABLE position (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  version INTEGER NOT NULL,
  space TEXT NOT NULL,
  seq INTEGER NOT NULL,
  hash TEXT NOT NULL,
  at TEXT NOT NULL,
  active_us INTEGER NOT NULL,
  "offset" INTEGER NOT NULL,
  purged INTEGER NOT NULL,
  mark INTEGER NOT NULL DEFAULT 0, -- over seq, hash, at and active_us: a changed byte shows
  active TEXT NOT NULL DEFAULT '', -- the ledger's active file as this engine left it
  sealed TEXT NOT NULL DEFAULT ''  -- and its segments
) STRICT;

-- What made the tokens of full text (recollect.index.text.made_with): full text can take out only the
-- tokens that were put in, so an index whose tokens were made in another way is built again.
CREATE TABLE made_with (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  tokens TEXT NOT NULL
) STRICT;

CREATE TABLE commands (
  seq INTEGER PRIMARY KEY,
  first INTEGER NOT NULL,
  id TEXT NOT NULL,
  marks TEXT NOT NULL,
  at TEXT NOT NULL,
  active_us INTEGER NOT NULL,
  origin TEXT NOT NULL, -- the highest of its events': an episode may have its speaker's
  author TEXT -- who acted; NULL once all of its events are erased
) STRICT;

-- Whose the ids of authors are.
CREATE TABLE authors (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  checked TEXT,
  "user" TEXT
) STRICT;
CREATE INDEX authors_by_id ON authors (id);
CREATE INDEX authors_by_name ON authors (name);

-- What the store noted about its ledger: events that change no other table.
CREATE TABLE notes (
  seq INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  what TEXT NOT NULL
) STRICT;

CREATE TABLE versions (
  /* columns: defined */
) STRICT;

CREATE INDEX versions_by_id ON versions (id, seq);
CREATE INDEX versions_superseded ON versions (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX versions_held ON versions (seq) WHERE status = 'held'; -- what waits for a person
CREATE INDEX versions_reviewed ON versions (id) WHERE what IN ('reviewed', 'vouched');

-- Versions as they are read, each with its text. A long text lies only in the row of the event that
-- brought it, and is looked up for the others.
CREATE VIEW full_versions AS SELECT
  /* columns: v before text */,
  COALESCE(v.text, (
    SELECT t.text FROM versions t WHERE t.seq = v.text_seq AND t.id = v.id
  )) AS text,
  /* columns: v after text */
FROM versions v;

CREATE TABLE tags (
  tag TEXT NOT NULL,
  record TEXT NOT NULL,
  seq INTEGER NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (tag, record, seq)
) STRICT, WITHOUT ROWID;

-- Here and below `until` stands in a key so that what holds now is found at once, however often a tag,
-- a link, a preset or a shadow came and went.
CREATE INDEX tags_by_record ON tags (record, tag, until);

CREATE TABLE evidence (
  episode TEXT NOT NULL,
  record TEXT NOT NULL,
  seq INTEGER NOT NULL,
  text_seq INTEGER NOT NULL, -- which words of the record the episode supports
  PRIMARY KEY (episode, record, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX evidence_by_record ON evidence (record, text_seq);

-- Which records have had a say over an episode, and whether they rest on it now. It follows from the
-- tables above; asking whether any is left must not take longer the more records name the episode.
CREATE TABLE resting (
  episode TEXT NOT NULL,
  record TEXT NOT NULL,
  now INTEGER NOT NULL,
  PRIMARY KEY (episode, record)
) STRICT, WITHOUT ROWID;

CREATE INDEX resting_now ON resting (episode) WHERE now = 1;

-- The words of a value that another replaced, without those that the other has too: a text with one of
-- them may still state that value. `by` is the record that says the new one. A value may have come back:
-- reads look at the versions.
CREATE TABLE replaced (
  token TEXT NOT NULL,
  record TEXT NOT NULL,
  text_seq INTEGER NOT NULL,
  by TEXT NOT NULL,
  PRIMARY KEY (token, text_seq, record, by)
) STRICT, WITHOUT ROWID;

CREATE INDEX replaced_of ON replaced (record);
CREATE INDEX replaced_by ON replaced (by);

-- Changes of a record that changed nothing, such as one that came by a merge after a person had vouched
-- for the record. Erasing the record must find their words, too.
CREATE TABLE ineffective (
  seq INTEGER PRIMARY KEY,
  record TEXT NOT NULL
) STRICT;

CREATE INDEX ineffective_of ON ineffective (record);

CREATE TABLE episodes (
  id TEXT NOT NULL UNIQUE,
  seq INTEGER PRIMARY KEY,
  text TEXT NOT NULL,
  role TEXT NOT NULL,
  "user" TEXT,
  session TEXT,
  agent TEXT,
  said_at TEXT NOT NULL,
  at TEXT NOT NULL,
  metadata TEXT NOT NULL,
  origin TEXT NOT NULL,
  trust TEXT NOT NULL,
  transient INTEGER NOT NULL -- it only asks, or orders something that is done once
) STRICT;

CREATE TABLE hidden (
  episode TEXT NOT NULL,
  why TEXT NOT NULL,
  seq INTEGER NOT NULL,
  until INTEGER NOT NULL,
  origin TEXT, -- whose act it was; NULL for a shadow, which is nobody's
  PRIMARY KEY (episode, until, why, seq)
) STRICT, WITHOUT ROWID;

-- Here and below: events that ended something are listed too, in their order.
CREATE INDEX hidden_events ON hidden (seq) WHERE why = 'forgotten';
CREATE INDEX hidden_ends ON hidden (until) WHERE why = 'forgotten' AND until < 9007199254740991;

CREATE TABLE links (
  source TEXT NOT NULL,
  target TEXT NOT NULL,
  kind TEXT NOT NULL,
  seq INTEGER PRIMARY KEY,
  until INTEGER NOT NULL,
  weight REAL NOT NULL,
  trust TEXT NOT NULL,
  at TEXT NOT NULL,
  reinforcement_count INTEGER NOT NULL,
  name TEXT -- what another system calls it
) STRICT;

CREATE INDEX links_by_source ON links (source, target, kind, until);
-- These two end with seq, so that a record's newest links are read without the others.
CREATE INDEX links_from ON links (source);
CREATE INDEX links_by_target ON links (target);
CREATE INDEX links_ends ON links (until) WHERE until < 9007199254740991;

CREATE TABLE presets (
  name TEXT NOT NULL,
  seq INTEGER PRIMARY KEY,
  until INTEGER NOT NULL,
  at TEXT NOT NULL,
  trust TEXT NOT NULL,
  weights TEXT NOT NULL,
  "where" TEXT,
  unit TEXT NOT NULL,
  guarantees TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  template TEXT NOT NULL,
  cache TEXT NOT NULL,
  floor REAL NOT NULL
) STRICT;

CREATE INDEX presets_by_name ON presets (name, until);
CREATE INDEX presets_ends ON presets (until) WHERE until < 9007199254740991;

CREATE TABLE documents (
  type TEXT NOT NULL,
  name TEXT NOT NULL,
  seq INTEGER PRIMARY KEY,
  until INTEGER NOT NULL,
  at TEXT NOT NULL,
  trust TEXT NOT NULL,
  data TEXT NOT NULL
) STRICT;

CREATE INDEX documents_by_name ON documents (type, name, until);
CREATE INDEX documents_ends ON documents (until) WHERE until < 9007199254740991;

-- How far each rule has looked at the episodes: a row for each pass.
CREATE TABLE passes (
  rule TEXT NOT NULL,
  seq INTEGER PRIMARY KEY,
  until INTEGER NOT NULL,
  at TEXT NOT NULL,
  through INTEGER NOT NULL,
  seen INTEGER NOT NULL,
  made INTEGER NOT NULL,
  skipped INTEGER NOT NULL
) STRICT;

CREATE INDEX passes_of_rule ON passes (rule, until);

-- Sessions, each with the event from which it is known: the first record, episode or receipt that names
-- it, or its opening. `opened` and `closed` are events too; 9007199254740991 stands for "not yet".
CREATE TABLE sessions (
  id TEXT NOT NULL,
  "user" TEXT NOT NULL, -- '' for none: the sessions of two users may have the same name
  seq INTEGER PRIMARY KEY,
  opened INTEGER NOT NULL DEFAULT 9007199254740991,
  closed INTEGER NOT NULL DEFAULT 9007199254740991,
  task_type TEXT,
  hours REAL, -- active hours as the writer counts them; NULL: as the fold does
  UNIQUE (id, "user")
) STRICT;

CREATE INDEX sessions_of_user ON sessions ("user", seq);
CREATE INDEX sessions_opened ON sessions (opened)
  WHERE opened < 9007199254740991;
-- The open ones, whatever their number, and the events that closed one, in their order.
CREATE INDEX sessions_closed ON sessions (closed, opened)
  WHERE opened < 9007199254740991;
CREATE INDEX sessions_closed_of_user ON sessions ("user", closed, opened)
  WHERE opened < 9007199254740991;

-- Changes that wait for a person, and what became of them: `until` is the event that settled one, and
-- what follows `until` below is said by that event.
CREATE TABLE proposals (
  id TEXT NOT NULL UNIQUE,
  seq INTEGER PRIMARY KEY,
  at TEXT NOT NULL,
  origin TEXT NOT NULL,
  intent TEXT NOT NULL,
  trust TEXT NOT NULL,
  target TEXT,
  base INTEGER,
  text TEXT,
  key TEXT,
  kind TEXT,
  about TEXT,
  evidence TEXT NOT NULL,
  spans TEXT NOT NULL,
  rule TEXT,
  confidence REAL,
  reason TEXT,
  changes TEXT NOT NULL,
  "user" TEXT,
  session TEXT,
  agent TEXT,
  until INTEGER NOT NULL,
  outcome TEXT,
  settled_by TEXT,
  settled_at TEXT,
  note TEXT,
  record TEXT,
  branch TEXT -- of the event that made it
) STRICT;

CREATE INDEX proposals_waiting ON proposals (seq) WHERE until = 9007199254740991 AND branch IS NULL;
CREATE INDEX proposals_on_branch ON proposals (branch, seq) WHERE branch IS NOT NULL;
CREATE INDEX proposals_ends ON proposals (until) WHERE until < 9007199254740991;

-- What a proposal is about, rests on or has made: erasing any of these erases the proposal too. An
-- episode that is quoted is named by its event.
CREATE TABLE concerns (
  subject TEXT NOT NULL,
  proposal TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (subject, proposal)
) STRICT, WITHOUT ROWID;

CREATE INDEX concerns_by_proposal ON concerns (proposal);

-- Named lines of proposals: `until` is the event that closed one, and what follows it is said by that
-- event.
CREATE TABLE branches (
  id TEXT NOT NULL UNIQUE,
  seq INTEGER PRIMARY KEY,
  at TEXT NOT NULL,
  origin TEXT NOT NULL,
  name TEXT NOT NULL,
  parent TEXT,
  reason TEXT,
  "user" TEXT,
  session TEXT,
  agent TEXT,
  until INTEGER NOT NULL,
  how TEXT,
  closed_by TEXT,
  closed_at TEXT,
  note TEXT,
  record TEXT
) STRICT;

CREATE INDEX branches_named ON branches (name);
CREATE INDEX branches_closed ON branches (until) WHERE until < 9007199254740991;

CREATE TABLE receipts (
  id TEXT NOT NULL UNIQUE,
  seq INTEGER PRIMARY KEY,
  at TEXT NOT NULL,
  "user" TEXT,
  session TEXT,
  agent TEXT,
  query TEXT NOT NULL,
  preset TEXT NOT NULL,
  preset_digest TEXT NOT NULL,
  ranking INTEGER NOT NULL,
  embedder TEXT,
  now TEXT NOT NULL,
  position INTEGER NOT NULL,
  budget INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  counter TEXT NOT NULL,
  signals TEXT NOT NULL,
  items TEXT NOT NULL
) STRICT;

CREATE TABLE erased (
  seq INTEGER PRIMARY KEY,
  by INTEGER NOT NULL
) STRICT;

CREATE INDEX erased_by ON erased (by);

-- Full text over tokens that Python made. Two tables, so that what may not be recalled moves no
-- statistic of what may. The text itself lies in versions and episodes. The first keeps its tokens,
-- and the facts of each text (recollect.index.facts): recall reads them for each candidate, and to
-- make them from the text takes several times as long.
CREATE VIRTUAL TABLE recallable USING fts5 (tokens, facts UNINDEXED, tokenize = 'ascii');
CREATE VIRTUAL TABLE rest USING fts5 (tokens, content = '', tokenize = 'ascii');
