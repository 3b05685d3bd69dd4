-- Indexes that decisions and reads want and the fold does not. Their keys are random, so filling
-- them row by row touches every page again and again; made after the rows, they are sorted once.

CREATE INDEX commands_by_id ON commands (id);

-- With what a decision wants of them: however many records had a key or say the same, it reads one.
CREATE INDEX versions_by_content ON versions (content_id, status, "user", id)
  WHERE until = 9007199254740991;

CREATE INDEX versions_by_key ON versions (key, status, "user")
  WHERE until = 9007199254740991 AND key IS NOT NULL;

-- Recall asks which turns stand beside one, and which sessions were lately.
CREATE INDEX episodes_by_session ON episodes (session, COALESCE("user", ''), seq)
  WHERE session IS NOT NULL AND trust <> 'unverified';
CREATE INDEX episodes_in_sessions ON episodes (seq, session, "user")
  WHERE session IS NOT NULL AND trust <> 'unverified';
