-- Each machine stores the views beside its copy of the log. Drop their tables here. A running
-- process of a former version then lacks them, and refuses before it writes.
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
