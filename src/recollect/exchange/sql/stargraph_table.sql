SELECT EXISTS (
  SELECT 1 FROM pragma_table_list
  WHERE schema = 'main' AND name = 'episodes' COLLATE NOCASE AND type = 'table'
) AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo('episodes') WHERE hidden <> 0)
