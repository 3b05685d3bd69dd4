-- Lets the owner of the database act as the service's role, which every connection does. From
-- PostgreSQL 16 on, making a role gives ADMIN on it and not SET; a superuser needs neither.

DO $$
DECLARE
  has_set boolean := current_setting('server_version_num')::integer >= 160000;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'recollect_app') THEN
    CREATE ROLE recollect_app NOLOGIN;
  END IF;
  IF NOT pg_has_role('recollect_app', CASE WHEN has_set THEN 'SET' ELSE 'MEMBER' END) THEN
    EXECUTE 'GRANT recollect_app TO CURRENT_USER'
      || CASE WHEN has_set THEN ' WITH SET TRUE, INHERIT FALSE' ELSE '' END;
  END IF;
END
$$;
