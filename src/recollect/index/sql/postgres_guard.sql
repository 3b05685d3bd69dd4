-- Locks every table of spaces that has no lock yet, and gives it a view of the space that was entered:
-- of what begins with a space nothing can be forgotten. Runs after the scripts that make such tables.
--
-- First it says what the planner is to know of each column. Samples would tell one space about
-- another (decision 14), and without anything the planner takes every space for a two-hundredth of a
-- table. One row without content, analysed while the table is empty, leaves how many different values
-- a column is said to have (n_distinct) and nothing of a value; nothing is sampled afterwards, so it
-- stays. A space counts as the whole table, but for tables with a row or two of each: lookups by a
-- second column are then preferred to reading the space, however large it is.
--
-- A token for one user (decision 16) sees and writes what the rules below say; `me` stands for that
-- user. A row that something else owns goes with its owner: it is seen if the owner is not another's,
-- and added if the owner is there and the user's, so that nothing lies ready for what another writes
-- later. A table without a rule stops this script.
--
-- Each policy asks for the space and for whether the token is limited in one subselect: asked one by
-- one, a part of the caller's statement could change a setting between the two answers. Tokens that are
-- not limited pay for one comparison of a boolean a row.

DO $$
DECLARE
  name text;
  columns text;
  said text;
  cells text;
  rule record;
  seen text;
  added text;
  asked text := format(
    '(space, (SELECT %1$s) AND (%%1$s)) = (SELECT %%2$s, %1$s)', recollect.limited()
  );
BEGIN
  FOR name IN
    SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = 1
    WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind = 'r' AND a.attname = 'space'
      AND NOT c.relrowsecurity
    ORDER BY c.relname
  LOOP
    SELECT * INTO rule FROM (VALUES
      -- table; which rows are seen; which may be added, or be what an update leaves; which of those
      -- that are seen may be updated; which deleted
      ('versions', '"user" = me', '"user" = me AND NOT recollect.is_others(id)', 'true', 'true'),
      ('episodes', '"user" = me', '"user" = me AND NOT recollect.is_others(id)', 'true', 'true'),
      ('proposals', '"user" = me', '"user" = me AND NOT recollect.is_others_proposal(id)', 'true', 'true'),
      ('concerns', 'recollect.is_own_proposal(proposal)', 'recollect.is_own_proposal(proposal)',
        'true', 'true'),
      ('branches', '"user" = me', '"user" = me AND NOT recollect.is_others_branch(id)', 'true', 'true'),
      ('receipts', '"user" = me', '"user" = me', 'true', 'true'),
      ('sessions', '"user" = me', '"user" = me', 'true', 'true'),
      ('tags', 'NOT recollect.is_others(record)', 'recollect.is_own(record)', 'true', 'true'),
      ('evidence', 'NOT recollect.is_others(record)', 'recollect.is_own(record)', 'true', 'true'),
      -- A shared record may rest on a user's episode; its words are in no row of this table.
      ('resting', 'NOT recollect.is_others(episode)', 'NOT recollect.is_others(episode)'
        ' AND (recollect.is_own(episode) OR recollect.is_own(record))', 'true', 'true'),
      ('replaced', 'NOT recollect.is_others(record)', 'recollect.is_own(record)', 'true', 'true'),
      ('ineffective', 'NOT recollect.is_others(record)', 'recollect.is_own(record)', 'true', 'true'),
      ('hidden', 'NOT recollect.is_others(episode)', 'recollect.is_own(episode)', 'true', 'true'),
      -- A link to another's record is seen, because erasing the user's own takes it along.
      ('links', 'NOT (recollect.is_others(source) AND recollect.is_others(target))',
        'recollect.is_own(source) AND recollect.is_own(target)',
        '(NOT recollect.is_others(source) AND NOT recollect.is_others(target))', 'true'),
      ('postings', 'NOT recollect.is_others_text(doc)', 'recollect.is_own_text(doc)', 'true', 'true'),
      -- Keeping vectors is keeping everybody's; a user's own go when they are erased.
      ('vectors', 'NOT recollect.is_others_text(seq)', 'false', 'false', 'true'),
      -- Names of those who act for the whole space too, because they approve what is a user's.
      ('authors', '("user" IS NULL OR "user" = me)',
        '"user" = me AND name = me AND NOT recollect.is_others_author(id)', 'false',
        '"user" = (SELECT recollect.here_user())'),
      ('commands', 'recollect.is_own_command(seq)', 'recollect.is_own_command(seq)', 'true', 'true'),
      -- Of the whole space: which events are the store's own, or took back what was derived from something.
      -- A user may begin a space, and take back.
      ('notes', 'true', 'seq = 1 OR kind = ''lineage.retracted''', 'false', 'false'),
      -- Of the whole space: numbers of events, and no content.
      ('erased', 'true', 'recollect.is_own_event(seq)', 'false', 'false'),
      -- Of the whole space: it begins at 0 and moves with append_and_move() alone.
      ('position', 'true', 'seq = 0', 'false', 'false'),
      -- Of the whole space: how many texts and words there are, which every text that is added changes.
      ('shelves', 'true', 'true', 'true', 'false'),
      -- Of the whole space: a token for one user reads them.
      ('frames', 'true', 'false', 'false', 'false'),
      ('documents', 'true', 'false', 'false', 'false'),
      ('passes', 'true', 'false', 'false', 'false'),
      ('embedders', 'true', 'false', 'false', 'false')
    ) AS rules (relation, seen, added, changed, removed) WHERE relation = name;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'the table % has no rule for tokens of one user', name;
    END IF;
    seen := replace(rule.seen, ' me', ' (SELECT recollect.here_user())');
    added := replace(rule.added, ' me', ' (SELECT recollect.here_user())');
    SELECT
      string_agg(format('ALTER COLUMN %I SET (n_distinct = %s)', a.attname, CASE
        WHEN a.attname = 'space' THEN
          CASE WHEN name IN ('position', 'shelves', 'embedders') THEN -0.5 ELSE 1 END
        WHEN a.attname IN (
          'version', 'until', 'what', 'origin', 'kind', 'source_type', 'is_hypothesis', 'status',
          'trust', 'decay_tier', 'role', 'why', 'shelf', 'embedder', 'dimensions', 'intent', 'outcome',
          'settled_by', 'tz_minutes'
        ) THEN 3
        WHEN a.attname IN ('user', 'agent') THEN 10
        WHEN a.attname IN ('session', 'tag', 'about') THEN -0.05
        ELSE -0.5
      END), ', '),
      string_agg(CASE t.typcategory
        WHEN 'N' THEN '0' WHEN 'S' THEN quote_literal('') ELSE quote_literal('[0]')
      END, ', ' ORDER BY a.attnum)
    INTO said, cells
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    WHERE a.attrelid = format('recollect.%I', name)::regclass AND a.attnum > 0
      AND NOT a.attisdropped;
    EXECUTE format('ALTER TABLE recollect.%I %s', name, said);
    EXECUTE format('INSERT INTO recollect.%I VALUES (%s)', name, cells);
    EXECUTE format('ANALYZE recollect.%I', name);
    EXECUTE format('TRUNCATE recollect.%I', name);
    EXECUTE format('ALTER TABLE recollect.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE recollect.%I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format(
      'CREATE POLICY entered ON recollect.%I FOR SELECT USING (%s)',
      name, format(asked, seen, 'recollect.here()')
    );
    EXECUTE format(
      'CREATE POLICY added ON recollect.%I FOR INSERT WITH CHECK (%s)',
      name, format(asked, added, 'recollect.here_to_write()')
    );
    EXECUTE format(
      'CREATE POLICY changed ON recollect.%I FOR UPDATE USING (%s) WITH CHECK (%s)', name,
      format(asked, format('(%s) AND %s', seen, rule.changed), 'recollect.here_to_write()'),
      format(asked, added, 'recollect.here_to_write()')
    );
    EXECUTE format(
      'CREATE POLICY removed ON recollect.%I FOR DELETE USING (%s)', name,
      format(asked, format('(%s) AND %s', seen, rule.removed), 'recollect.here_to_write()')
    );
    EXECUTE format(
      'GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.%I TO recollect_app', name
    );
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO columns
    FROM pg_attribute WHERE attrelid = format('recollect.%I', name)::regclass AND attnum > 1
      AND NOT attisdropped;
    EXECUTE format(
      'CREATE VIEW recollect_here.%I WITH (security_invoker) AS SELECT %s FROM recollect.%I'
      ' WHERE space = nullif(current_setting(''recollect.space'', true), '''')::bigint',
      name, columns, name
    );
    EXECUTE format(
      'GRANT SELECT, INSERT, UPDATE, DELETE ON recollect_here.%I TO recollect_app', name
    );
  END LOOP;
END
$$;
