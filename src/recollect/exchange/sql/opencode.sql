-- distrust
PRAGMA trusted_schema = OFF;
-- tables
SELECT name FROM pragma_table_list AS found
WHERE schema = 'main' AND type = 'table' AND name IN ('session', 'message', 'part')
  AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(found.name) WHERE hidden <> 0);
-- sessions
SELECT id, directory, parent_id IS NOT NULL FROM session ORDER BY time_created, id;
-- messages
SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id;
-- parts
SELECT message_id, data FROM part WHERE session_id = ? ORDER BY message_id, id;
