-- What a token for one user may know and do beyond the rows that it sees. Runs with the scripts that make
-- the tables of spaces, before the one that locks them. These functions run as the owner, so they see
-- every row of the entered space; each tells no more than its comment says. Where no space is entered
-- everything is another's: a statement may have changed a setting after its policies were asked.

-- True if a record or an episode of this id is another user's, or nobody's. Tells that an id is taken.
CREATE OR REPLACE FUNCTION recollect.is_others(named text) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER COST 1 SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place bigint := recollect.here();
  me text := current_setting('recollect.user', true);
BEGIN
  RETURN place IS NULL OR EXISTS (
    SELECT 1 FROM recollect.versions v
    WHERE v.space = place AND v.id = named AND v."user" IS DISTINCT FROM me
  ) OR EXISTS (
    SELECT 1 FROM recollect.episodes e
    WHERE e.space = place AND e.id = named AND e."user" IS DISTINCT FROM me
  );
END
$$;

-- True if there is a record or an episode of this id and it is the user's.
CREATE OR REPLACE FUNCTION recollect.is_own(named text) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER COST 1 SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place bigint := recollect.here();
  me text := current_setting('recollect.user', true);
BEGIN
  RETURN EXISTS (
    SELECT 1 FROM recollect.versions v WHERE v.space = place AND v.id = named AND v."user" = me
  ) OR EXISTS (
    SELECT 1 FROM recollect.episodes e WHERE e.space = place AND e.id = named AND e."user" = me
  );
END
$$;

-- The same two for a text, by the event that brought it.
CREATE OR REPLACE FUNCTION recollect.is_others_text(doc bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER COST 1 SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place bigint := recollect.here();
  me text := current_setting('recollect.user', true);
BEGIN
  RETURN place IS NULL OR EXISTS (
    SELECT 1 FROM recollect.versions v
    WHERE v.space = place AND v.seq = doc AND v."user" IS DISTINCT FROM me
  ) OR EXISTS (
    SELECT 1 FROM recollect.episodes e
    WHERE e.space = place AND e.seq = doc AND e."user" IS DISTINCT FROM me
  );
END
$$;

CREATE OR REPLACE FUNCTION recollect.is_own_text(doc bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER COST 1 SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place bigint := recollect.here();
  me text := current_setting('recollect.user', true);
BEGIN
  RETURN EXISTS (
    SELECT 1 FROM recollect.versions v WHERE v.space = place AND v.seq = doc AND v."user" = me
  ) OR EXISTS (
    SELECT 1 FROM recollect.episodes e WHERE e.space = place AND e.seq = doc AND e."user" = me
  );
END
$$;

CREATE OR REPLACE FUNCTION recollect.is_others_receipt(named text) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER COST 1 SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place bigint := recollect.here();
  me text := current_setting('recollect.user', true);
BEGIN
  RETURN place IS NULL OR EXISTS (
    SELECT 1 FROM recollect.receipts r
    WHERE r.space = place AND r.id = named AND r."user" IS DISTINCT FROM me
  );
END
$$;

CREATE OR REPLACE FUNCTION recollect.is_others_proposal(named text) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER COST 1 SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place bigint := recollect.here();
  me text := current_setting('recollect.user', true);
BEGIN
  RETURN place IS NULL OR EXISTS (
    SELECT 1 FROM recollect.proposals p
    WHERE p.space = place AND p.id = named AND p."user" IS DISTINCT FROM me
  );
END
$$;

CREATE OR REPLACE FUNCTION recollect.is_others_author(named text) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER COST 1 SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place bigint := recollect.here();
  me text := current_setting('recollect.user', true);
BEGIN
  RETURN place IS NULL OR EXISTS (
    SELECT 1 FROM recollect.authors a
    WHERE a.space = place AND a.id = named AND a."user" IS DISTINCT FROM me
  );
END
$$;

CREATE OR REPLACE FUNCTION recollect.is_others_branch(named text) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER COST 1 SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place bigint := recollect.here();
  me text := current_setting('recollect.user', true);
BEGIN
  RETURN place IS NULL OR EXISTS (
    SELECT 1 FROM recollect.branches b
    WHERE b.space = place AND b.id = named AND b."user" IS DISTINCT FROM me
  );
END
$$;

CREATE OR REPLACE FUNCTION recollect.is_own_proposal(named text) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER COST 1 SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place bigint := recollect.here();
  me text := current_setting('recollect.user', true);
BEGIN
  RETURN EXISTS (
    SELECT 1 FROM recollect.proposals p WHERE p.space = place AND p.id = named AND p."user" = me
  );
END
$$;

-- True if the command that ended with this event is the user's, or is not in the ledger yet.
CREATE OR REPLACE FUNCTION recollect.is_own_command(last bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER COST 1 SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place bigint := recollect.here();
  me text := current_setting('recollect.user', true);
BEGIN
  RETURN place IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM recollect.events e WHERE e.space = place AND e.seq = last
      AND recollect.said_in(e.body) ->> 'user' IS DISTINCT FROM me
  );
END
$$;

-- Which of these ids are taken, by whomever.
CREATE OR REPLACE FUNCTION recollect.taken(ids text[]) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place bigint := recollect.here();
BEGIN
  RETURN QUERY SELECT DISTINCT i.id FROM unnest(ids) i (id) WHERE EXISTS (
    SELECT 1 FROM recollect.versions v WHERE v.space = place AND v.id = i.id
  ) OR EXISTS (
    SELECT 1 FROM recollect.episodes e WHERE e.space = place AND e.id = i.id
  );
END
$$;

-- A command by its id; what it asked for only if it is the user's. Tells that an id is taken.
CREATE OR REPLACE FUNCTION recollect.command_of(named text)
RETURNS TABLE (seq bigint, first bigint, id text, marks text, at text, active_us bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT c.seq, c.first, c.id,
    CASE WHEN recollect.is_own_command(c.seq) THEN c.marks ELSE '' END, c.at, c.active_us
  FROM recollect.commands c WHERE c.space = recollect.here() AND c.id = named
  ORDER BY c.seq LIMIT 1;
END
$$;

-- The last command that was complete at a position: when it was, and how long the space was active.
CREATE OR REPLACE FUNCTION recollect.clock_at(place bigint)
RETURNS TABLE (seq bigint, first bigint, id text, marks text, at text, active_us bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT c.seq, c.first, ''::text, ''::text, c.at, c.active_us
  FROM recollect.commands c WHERE c.space = recollect.here() AND c.seq <= place
  ORDER BY c.seq DESC LIMIT 1;
END
$$;

-- How long the space was active up to each of these events.
CREATE OR REPLACE FUNCTION recollect.active_at(events bigint[])
RETURNS TABLE (event bigint, active_us bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  place bigint := recollect.here();
BEGIN
  RETURN QUERY SELECT e.event, c.active_us FROM unnest(events) e (event)
  JOIN recollect.commands c ON c.space = place AND c.seq = (
    SELECT MIN(k.seq) FROM recollect.commands k WHERE k.space = place AND k.seq >= e.event
  );
END
$$;

-- When an event of the space was written, as clock_at() tells too.
CREATE OR REPLACE FUNCTION recollect.event_at(event bigint) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER COST 1 SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN (
    SELECT c.at FROM recollect.commands c WHERE c.space = recollect.here() AND c.seq >= event
    ORDER BY c.seq LIMIT 1
  );
END
$$;

-- With which origin an event about the user's memory was written, by the user or for the whole space.
CREATE OR REPLACE FUNCTION recollect.event_origin(event bigint) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER COST 1 SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN (
    SELECT c.origin FROM recollect.commands c WHERE c.space = recollect.here() AND c.seq >= event
      AND recollect.is_own_event(event)
    ORDER BY c.seq LIMIT 1
  );
END
$$;

-- Who wrote an event about the user's memory, as event_origin() tells for which origin.
CREATE OR REPLACE FUNCTION recollect.event_author(event bigint) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER COST 1 SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN (
    SELECT c.author FROM recollect.commands c WHERE c.space = recollect.here() AND c.seq >= event
      AND recollect.is_own_event(event)
    ORDER BY c.seq LIMIT 1
  );
END
$$;

-- The key of the call that wrote an event, if the call was the user's.
CREATE OR REPLACE FUNCTION recollect.event_key(event bigint) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER COST 1 SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN (
    SELECT CASE WHEN c.marks <> '' AND recollect.is_own_command(c.seq) THEN c.id END
    FROM recollect.commands c WHERE c.space = recollect.here() AND c.seq >= event
    ORDER BY c.seq LIMIT 1
  );
END
$$;

-- In how many texts of a shelf a word stands. Scores are computed over the whole space, so that they are
-- the same on every engine: they tell that others use a word, and how often.
CREATE OR REPLACE FUNCTION recollect.count_holding(board text, word text) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN (
    SELECT COUNT(*) FROM recollect.postings p
    WHERE p.space = recollect.here() AND p.shelf = board AND p.token = word
  );
END
$$;

-- The user's own texts of a shelf that hold any of these words: one look at the mark for all of them.
CREATE OR REPLACE FUNCTION recollect.own_postings(board text, words text[])
RETURNS TABLE (token text, doc bigint, times integer, length integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  place bigint := recollect.here();
  me text := current_setting('recollect.user', true);
BEGIN
  RETURN QUERY SELECT p.token, p.doc, p.times, p.length FROM recollect.postings p
  WHERE p.space = place AND p.shelf = board AND p.token = ANY (words) AND (
    EXISTS (
      SELECT 1 FROM recollect.versions v WHERE v.space = place AND v.seq = p.doc AND v."user" = me
    ) OR EXISTS (
      SELECT 1 FROM recollect.episodes e WHERE e.space = place AND e.seq = p.doc AND e."user" = me
    )
  );
END
$$;

-- The user's own texts that are nearest to a row.
CREATE OR REPLACE FUNCTION recollect.own_nearest(asked text, model text, many bigint)
RETURNS TABLE (seq bigint, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  place bigint := recollect.here();
  me text := current_setting('recollect.user', true);
BEGIN
  RETURN QUERY SELECT v.seq, MAX(recollect.nearness(v.embedding, recollect.as_vector(asked))) AS score
  FROM recollect.vectors v
  WHERE v.space = place AND v.embedder = model AND (
    EXISTS (
      SELECT 1 FROM recollect.versions r WHERE r.space = place AND r.seq = v.seq AND r."user" = me
    ) OR EXISTS (
      SELECT 1 FROM recollect.episodes e WHERE e.space = place AND e.seq = v.seq AND e."user" = me
    )
  )
  GROUP BY v.seq ORDER BY score DESC, v.seq DESC LIMIT many;
END
$$;

-- Of the newest trusted episodes in sessions: the first, and in how many sessions they are.
CREATE OR REPLACE FUNCTION recollect.recent_sessions(
  place bigint, many bigint, OUT first bigint, OUT sessions bigint
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  SELECT MIN(s.first), COUNT(*) INTO first, sessions FROM (
    SELECT MIN(r.seq) AS first FROM (
      SELECT e.seq, e.session, e."user" FROM recollect.episodes e
      WHERE e.space = recollect.here() AND e.session IS NOT NULL AND e.trust <> 'unverified'
        AND e.seq <= place
      ORDER BY e.seq DESC LIMIT many
    ) r GROUP BY r.session, r."user"
  ) s;
END
$$;

-- How many sessions have a word in what was said from an episode on and may be recalled.
CREATE OR REPLACE FUNCTION recollect.sessions_holding(word text, since bigint) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place bigint := recollect.here();
BEGIN
  RETURN (
    SELECT COUNT(*) FROM (
      SELECT DISTINCT e.session, e."user" FROM recollect.postings p
      JOIN recollect.episodes e ON e.space = place AND e.seq = p.doc
      WHERE p.space = place AND p.shelf = 'recallable' AND p.token = word AND p.doc >= since
        AND e.session IS NOT NULL AND e.trust <> 'unverified'
    ) s
  );
END
$$;

-- The versions that can rest on an episode of the user's: the user's own and those of nobody in
-- particular. Of the latter it tells their ids, when they held and what became of them, not what they say.
CREATE OR REPLACE FUNCTION recollect.ties_of(named text)
RETURNS TABLE (tied bigint, version recollect.versions)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place bigint := recollect.here();
  me text := current_setting('recollect.user', true);
BEGIN
  RETURN QUERY SELECT e.seq, CASE WHEN v."user" = me THEN v ELSE jsonb_populate_record(
    v, jsonb_build_object(
      'text', '', 'content_id', '', 'kind', '', 'key', NULL, 'about', NULL, 'tags', '',
      'note', NULL, 'session', NULL, 'agent', NULL, 'evidence', '', 'data', '{}',
      'supersedes', NULL, 'superseded_by', NULL
    )
  ) END
  FROM recollect.evidence e
  JOIN recollect.versions v ON v.space = place AND v.id = e.record AND v.text_seq = e.text_seq
  WHERE e.space = place AND e.episode = named AND NOT recollect.is_others(named)
    AND (v."user" = me OR v."user" IS NULL)
  ORDER BY v.id, v.seq, e.seq;
END
$$;

-- Takes away what a command asked for, when an event of it is erased.
CREATE OR REPLACE FUNCTION recollect.blank_command(target bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place bigint := recollect.here();
BEGIN
  PERFORM recollect.require('erase');
  IF recollect.is_own_event(target) THEN
    UPDATE recollect.commands c SET marks = '', author = CASE WHEN c.seq - c.first + 1 > (
        SELECT COUNT(*) FROM recollect.erased x
        WHERE x.space = place AND x.seq BETWEEN c.first AND c.seq
      ) THEN c.author END
    WHERE c.space = place AND c.first <= target AND c.seq = (
      SELECT MIN(k.seq) FROM recollect.commands k WHERE k.space = place AND k.seq >= target
    );
  END IF;
END
$$;

-- Notes that erasures are done, as far as the bodies are gone.
CREATE OR REPLACE FUNCTION recollect.note_purged(through bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place bigint := recollect.here();
BEGIN
  PERFORM recollect.require('write');
  UPDATE recollect.position p SET purged = greatest(p.purged, least(through, p.seq))
  WHERE p.space = place AND NOT EXISTS (
    SELECT 1 FROM recollect.erased x JOIN recollect.events e ON e.space = place AND e.seq = x.seq
    WHERE x.space = place AND x.by > p.purged AND x.by <= through
      AND recollect.said_in(e.body) IS NOT NULL
  );
END
$$;

REVOKE ALL ON FUNCTION recollect.is_others, recollect.is_own, recollect.is_others_text,
  recollect.is_own_text, recollect.is_others_receipt, recollect.is_others_proposal,
  recollect.is_others_branch, recollect.is_others_author, recollect.is_own_proposal, recollect.is_own_command, recollect.taken,
  recollect.command_of, recollect.clock_at, recollect.active_at, recollect.count_holding,
  recollect.recent_sessions, recollect.sessions_holding, recollect.ties_of,
  recollect.own_postings, recollect.own_nearest, recollect.blank_command, recollect.note_purged,
  recollect.event_at, recollect.event_origin, recollect.event_key, recollect.event_author
  FROM PUBLIC;
GRANT EXECUTE ON FUNCTION recollect.is_others, recollect.is_own, recollect.is_others_text,
  recollect.is_own_text, recollect.is_others_proposal, recollect.is_others_branch, recollect.is_others_author,
  recollect.is_own_proposal,
  recollect.is_own_command, recollect.taken, recollect.command_of,
  recollect.clock_at, recollect.active_at, recollect.count_holding, recollect.recent_sessions,
  recollect.sessions_holding, recollect.ties_of, recollect.own_postings, recollect.own_nearest,
  recollect.blank_command, recollect.note_purged, recollect.event_at, recollect.event_origin,
  recollect.event_key, recollect.event_author TO recollect_app;
