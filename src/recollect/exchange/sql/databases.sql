-- distrust
PRAGMA trusted_schema = OFF;
-- tables
SELECT name FROM pragma_table_list AS found
WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'
  AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(found.name) WHERE hidden <> 0)
ORDER BY name;
-- stargraph
SELECT * FROM episodes;
-- blocks
SELECT * FROM blocks;
-- block_tags
SELECT * FROM block_tags;
-- edges
SELECT * FROM edges;
-- contradictions
SELECT * FROM contradictions;
-- frames
SELECT * FROM frames;
-- sessions
SELECT * FROM sessions;
-- system_config
SELECT * FROM system_config;
