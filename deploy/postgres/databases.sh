#!/bin/bash
# Makes the databases and their owners when PostgreSQL starts for the first time.
set -euo pipefail
psql --set ON_ERROR_STOP=1 --username postgres \
	--set massgen="$MASSGEN_PASSWORD" --set temporal="$TEMPORAL_PASSWORD" <<'SQL'
CREATE ROLE massgen LOGIN PASSWORD :'massgen';
CREATE DATABASE massgen OWNER massgen;
CREATE ROLE temporal LOGIN PASSWORD :'temporal';
CREATE DATABASE temporal OWNER temporal;
CREATE DATABASE temporal_visibility OWNER temporal;
\connect temporal_visibility
CREATE EXTENSION IF NOT EXISTS btree_gin;
SQL
