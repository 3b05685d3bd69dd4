-- Indexes that decisions and reads want and the fold does not. Their keys are random, so filling
-- them row by row touches every page again and again; made after the rows, they are sorted once.

CREATE INDEX commands_by_id ON commands (id);

-- With what a decision wants of them: however many records had a key or say the same, it reads one.
CREATE INDEX versions_by_content ON versions (content_id, status, "user", id)
  WHERE until = 9007199254740991;

CREATE INDEX versions_by_key ON versions (key, status, "user")
  WHERE until = 9007199254740991 AND key IS NOT NULL;
-- The same in the past, where every version that had the key may count.
CREATE INDEX versions_keyed ON versions (key, until) WHERE key IS NOT NULL;
-- Which keys a person has vouched for; however often an agent wrote under one, it reads one row.
CREATE INDEX versions_vouched ON versions (key, "user")
  WHERE trust = 'person' AND what IN ('added', 'reviewed', 'vouched') AND key IS NOT NULL;

-- What was last said about something, for a rule that looks for its like.
CREATE INDEX versions_about ON versions (about, status, "user", seq)
  WHERE until = 9007199254740991 AND about IS NOT NULL;

-- Recall asks which turns stand beside one, and which sessions were lately.
CREATE INDEX episodes_by_session ON episodes (session, COALESCE("user", ''), seq)
  WHERE session IS NOT NULL AND trust <> 'unverified';
CREATE INDEX episodes_in_sessions ON episodes (seq, session, "user")
  WHERE session IS NOT NULL AND trust <> 'unverified';

-- What was said last, in the whole space or in one scope of it; and what was changed last in one.
CREATE INDEX episodes_by_instant ON episodes (said_at);
CREATE INDEX episodes_by_user ON episodes ("user", said_at) WHERE "user" IS NOT NULL;
CREATE INDEX episodes_of_session ON episodes (session, said_at) WHERE session IS NOT NULL;
CREATE INDEX episodes_by_agent ON episodes (agent, said_at) WHERE agent IS NOT NULL;
CREATE INDEX versions_by_instant ON versions (said_at) WHERE said_at IS NOT NULL;
CREATE INDEX versions_of_user ON versions ("user", said_at)
  WHERE "user" IS NOT NULL AND said_at IS NOT NULL;
CREATE INDEX versions_by_user ON versions ("user", seq) WHERE "user" IS NOT NULL;
CREATE INDEX versions_by_session ON versions (session, seq) WHERE session IS NOT NULL;
CREATE INDEX versions_by_agent ON versions (agent, seq) WHERE agent IS NOT NULL;

-- The list of events of one user, in their order.
CREATE INDEX episodes_of_user ON episodes ("user", seq) WHERE "user" IS NOT NULL;
CREATE INDEX receipts_of_user ON receipts ("user", seq) WHERE "user" IS NOT NULL;

-- The first event that names a session, when the one that was first is erased.
CREATE INDEX receipts_by_session ON receipts (session, seq) WHERE session IS NOT NULL;
