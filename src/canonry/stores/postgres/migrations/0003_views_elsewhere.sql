-- Each machine keeps the views in a copy of the log; here the tables of views go. A process of a
-- former version that is still running finds them missing, and refuses before it writes anything.
DO $$
DECLARE
  views text;
BEGIN
  FOREACH views IN ARRAY ARRAY['_views', '_views_fresh', '_views_again', '_views_erasing'] LOOP
    EXECUTE format('DROP SCHEMA IF EXISTS %I CASCADE', current_schema() || views);
  END LOOP;
END
$$;
DELETE FROM meta WHERE name = 'views';
