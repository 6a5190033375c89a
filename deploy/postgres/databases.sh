#!/bin/bash
# Makes the databases and their owners where they are missing, and sets the owners' passwords. PostgreSQL's container
# runs it when the server starts for the first time; an operator may run it again, as after a database is lost.
set -euo pipefail
psql --set ON_ERROR_STOP=1 --username postgres \
	--set massgen="$MASSGEN_PASSWORD" --set temporal="$TEMPORAL_PASSWORD" <<'SQL'
SELECT format('CREATE ROLE %I', name) FROM (VALUES ('massgen'), ('temporal')) AS list (name)
	WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec
ALTER ROLE massgen LOGIN PASSWORD :'massgen';
ALTER ROLE temporal LOGIN PASSWORD :'temporal';
SELECT format('CREATE DATABASE %I OWNER %I', name, owner)
	FROM (VALUES ('massgen', 'massgen'), ('temporal', 'temporal'), ('temporal_visibility', 'temporal')) AS list (name, owner)
	WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = name) \gexec
\connect temporal_visibility
CREATE EXTENSION IF NOT EXISTS btree_gin;
SQL
