-- One search path for every function that looks at a mark. A plan that was made under another path is
-- made anew, and the policies' functions are called by turns from statements and from functions with a
-- path of their own: a statement paid for ten plans where it now pays for none. What these two name in
-- full stays so.

ALTER FUNCTION recollect.sign(bigint, text) SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION recollect.here() SET search_path = pg_catalog, pg_temp;
