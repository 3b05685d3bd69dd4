-- Presets, documents and the passes of rules.

-- name: get_preset
SELECT * FROM presets WHERE name = :name AND seq <= :at AND until > :at;

-- name: list_presets
SELECT * FROM presets WHERE seq <= :at AND until > :at ORDER BY name;

-- name: preset_events_of
SELECT seq, until FROM presets WHERE name = :name;

-- name: preset_of_event
SELECT name FROM presets WHERE seq = :seq;

-- name: get_document
SELECT * FROM documents WHERE type = :type AND name = :name AND seq <= :at AND until > :at;

-- name: list_documents
SELECT * FROM documents
WHERE (:type IS NULL OR type = :type) AND (type, name) > (:after_type, :after_name)
  AND seq <= :at AND until > :at
ORDER BY type, name LIMIT :limit;

-- name: documents_changed
SELECT DISTINCT type, name FROM documents
WHERE seq > :after OR (until > :after AND until < 9007199254740991) ORDER BY type, name;

-- name: document_events_of
SELECT seq, until FROM documents WHERE type = :type AND name = :name;

-- name: document_of_event
SELECT type, name FROM documents WHERE seq = :seq;

-- name: get_pass
SELECT * FROM passes WHERE rule = :rule AND seq <= :at AND until > :at;

-- name: passes_of
SELECT seq FROM passes WHERE rule = :rule;

-- name: pass_of_event
SELECT rule FROM passes WHERE seq = :seq;
