#!/usr/bin/env bash
# Runs a command beside a PostgreSQL server of its own, which MASSGEN_TEST_DATABASE
# names to it: "scripts/postgres.sh COMMAND ARGUMENT...". Without a command it runs
# the tests of temporal/postgres. The server listens on a socket in a temporary folder only,
# and both are gone afterwards, also if this script is killed.
set -euo pipefail

fail() {
	echo "postgres: $*" >&2
	exit 1
}

# programs prints the folder of the server's programs. Debian keeps them out of PATH.
programs() {
	local found
	found=$(command -v initdb) || found=$(printf '%s\n' /usr/lib/postgresql/*/bin/initdb | sort -V | tail -1)
	[ -x "$found" ] || fail "there is no initdb: install PostgreSQL, as with apt-get install postgresql"
	dirname "$(readlink -f "$found")"
}
bin=$(programs)
work=$(mktemp -d)

# as_user runs a command as somebody for whom the server runs: it refuses root.
as_user() {
	if [ "$(id -u)" -eq 0 ]; then
		(cd / && runuser -u postgres -- "$@")
	else
		"$@"
	fi
}

remove() {
	# A server that never came up cannot be stopped, and its folder goes all the same.
	as_user "$bin/pg_ctl" stop --pgdata "$work/data" --mode immediate >/dev/null 2>&1 || true
	rm -rf "$work"
}

# The remover reads until the last holder of its input, this script, has ended, in
# whatever way. Signals to the group are not for it.
exec 3> >(trap '' INT TERM HUP && cat >/dev/null && remove)
remover=$!
finish() {
	exec 3>&-
	wait "$remover" || true # its status says nothing of the command
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if [ "$(id -u)" -eq 0 ]; then
	id postgres >/dev/null 2>&1 || fail "PostgreSQL does not run as root, and there is no user postgres: run this as another user"
	chown postgres "$work"
fi
# A test that needs another server names its superuser and more options: MASSGEN_TEST_SUPERUSER, MASSGEN_TEST_OPTIONS.
as_user "$bin/initdb" --pgdata "$work/data" --username "${MASSGEN_TEST_SUPERUSER:=massgen}" --auth trust --encoding UTF8 --locale C --no-sync \
	>"$work/log" 2>&1 3>&- || { cat "$work/log" >&2 && fail "initdb failed"; }
# What the machine's death would lose is of no interest here, but to a benchmark: MASSGEN_TEST_FSYNC=on.
fsync=${MASSGEN_TEST_FSYNC:-off}
as_user "$bin/pg_ctl" start --wait --pgdata "$work/data" --log "$work/data/log" --options \
	"-c listen_addresses='' -c unix_socket_directories='$work' -c fsync=$fsync -c full_page_writes=$fsync -c max_connections=300 ${MASSGEN_TEST_OPTIONS-}" \
	>"$work/log" 2>&1 3>&- || { cat "$work/log" "$work/data/log" >&2 && fail "the server does not start"; }

# A test that restarts its server runs this command with a mode of pg_ctl, "fast" or "immediate".
as=
[ "$(id -u)" -ne 0 ] || as="runuser -u postgres --"
MASSGEN_TEST_RESTART="cd / && $as $bin/pg_ctl restart --wait --pgdata $work/data --log $work/data/log --mode"
export MASSGEN_TEST_RESTART
export MASSGEN_TEST_DATABASE="postgres:///postgres?user=$MASSGEN_TEST_SUPERUSER&host=$work"
if [ $# -eq 0 ]; then
	cd "$(dirname "$0")/../temporal"
	# The race detector would make SQLite, which is transpiled C, seven times slower.
	set -- go test -race -gcflags=modernc.org/...=-race=false -shuffle=on -count=1 -parallel 6 ./postgres
fi
"$@" 3>&-
