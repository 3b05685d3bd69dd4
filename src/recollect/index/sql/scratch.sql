-- What a scratch index on SQLite has in place of full text: which tokens stand on which shelf.

-- name: make_shelved
CREATE TABLE shelved (
  shelf TEXT NOT NULL,
  doc INTEGER NOT NULL,
  tokens TEXT NOT NULL,
  PRIMARY KEY (shelf, doc)
) WITHOUT ROWID;

-- name: keep_shelved
INSERT INTO shelved (shelf, doc, tokens) VALUES (?, ?, ?);

-- name: drop_shelved
DELETE FROM shelved WHERE shelf = ? AND doc = ?;

-- name: list_shelved
SELECT shelf, doc, tokens FROM shelved ORDER BY shelf, doc;
