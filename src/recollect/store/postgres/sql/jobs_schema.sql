-- Background work (decision 64): passes that were asked for, leases of workers, schedules. SQLite has the same
-- in index/sql/jobs.sql. A running job is due again when its lease ends. Instants are the server's.

CREATE TABLE recollect.jobs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  space text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  params text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  asked_by bigint,
  origin text COLLATE "C" NOT NULL,
  asked_at text COLLATE "C" NOT NULL,
  due_at text COLLATE "C" NOT NULL,
  attempts bigint NOT NULL DEFAULT 0,
  done bigint NOT NULL DEFAULT 0,
  total bigint NOT NULL DEFAULT 0,
  error text COLLATE "C"
);
CREATE UNIQUE INDEX jobs_waiting ON recollect.jobs (space, kind, params) WHERE state = 'waiting';
CREATE UNIQUE INDEX jobs_running ON recollect.jobs (space, kind, params) WHERE state = 'running';
CREATE INDEX jobs_next ON recollect.jobs ((attempts = 0), due_at, id) WHERE state IN ('waiting', 'running');
CREATE INDEX jobs_ended ON recollect.jobs (space, kind, id) WHERE state IN ('done', 'failed', 'cancelled');

CREATE TABLE recollect.schedules (
  space text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  params text COLLATE "C" NOT NULL,
  cron text COLLATE "C",
  every_s bigint,
  set_by bigint,
  next_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (space, kind)
);
