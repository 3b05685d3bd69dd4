SELECT id, scope_key, content, timestamp, metadata FROM episodes
