-- Links between records.

-- name: get_link
SELECT source, target, kind, seq, until, weight, trust, at, reinforcement_count, name
FROM links
WHERE source = :source AND target = :target AND kind = :kind
  AND until = 9007199254740991;

-- name: links_of
SELECT source, target, kind, seq, until, weight, trust, at, reinforcement_count, name
FROM links
WHERE (source = :id OR target = :id) AND seq <= :at AND until > :at
ORDER BY seq, source, target, kind;

-- name: trusted_links_of
SELECT source, target, kind, seq, until, weight, trust, at, reinforcement_count, name
FROM links
WHERE (
    source IN (SELECT value FROM json_each(:ids)) OR target IN (SELECT value FROM json_each(:ids))
  )
  AND trust <> 'unverified' AND seq <= :at AND until > :at
ORDER BY seq;

-- name: links_around
-- The newest links of each of these records to what may be shown, in their order.
SELECT l.source, l.target, l.kind, l.seq, l.until, l.weight, l.trust, l.at, l.reinforcement_count,
  l.name
FROM (
  SELECT s.key AS place, n.seq AS seq FROM json_each(:ids) s CROSS JOIN links n
  WHERE :outward > 0 AND n.seq IN (
    SELECT o.seq FROM links o
    WHERE o.source = s.value AND o.seq <= :at AND o.until > :at AND o.trust <> :without
      AND (:every > 0 OR o.kind IN (SELECT value FROM json_each(:kinds)))
      AND (o.target IN (SELECT value FROM json_each(:ends)) OR (
        SELECT /* columns: why v is hidden */
        FROM versions v WHERE v.id = o.target AND v.seq <= :at ORDER BY v.seq DESC LIMIT 1
      ) IN (SELECT value FROM json_each(:words)))
    ORDER BY o.seq DESC LIMIT :limit
  )
  UNION ALL
  SELECT s.key AS place, n.seq AS seq FROM json_each(:ids) s CROSS JOIN links n
  WHERE :inward > 0 AND n.seq IN (
    SELECT i.seq FROM links i
    WHERE i.target = s.value AND i.seq <= :at AND i.until > :at AND i.trust <> :without
      AND (:every > 0 OR i.kind IN (SELECT value FROM json_each(:kinds)))
      AND (i.source IN (SELECT value FROM json_each(:ends)) OR (
        SELECT /* columns: why v is hidden */
        FROM versions v WHERE v.id = i.source AND v.seq <= :at ORDER BY v.seq DESC LIMIT 1
      ) IN (SELECT value FROM json_each(:words)))
    ORDER BY i.seq DESC LIMIT :limit
  )
) AS found CROSS JOIN links l ON l.seq = found.seq
ORDER BY found.place, found.seq DESC;

-- name: ends_of_links
SELECT source, target FROM links
WHERE seq <= :at AND until > :at AND trust <> 'unverified' ORDER BY seq;

-- name: links_without_end
SELECT l.source, l.kind, l.target FROM links l
WHERE l.seq <= :at AND l.until > :at
  AND (
    NOT EXISTS (SELECT 1 FROM versions v WHERE v.id = l.source)
    OR NOT EXISTS (SELECT 1 FROM versions v WHERE v.id = l.target)
  )
ORDER BY l.seq LIMIT :limit;

-- name: links_changed
SELECT source, target, kind, seq, until, weight, trust, at, reinforcement_count, name
FROM links
WHERE seq BETWEEN :first AND :last OR until BETWEEN :first AND :last ORDER BY seq;

-- name: link_events_of
SELECT seq, until FROM links WHERE source = :id OR target = :id;

-- name: link_of_event
SELECT source FROM links WHERE seq = :seq;
