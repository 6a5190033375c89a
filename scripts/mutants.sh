#!/usr/bin/env bash
# Plants faults in the pure packages and counts how many the tests find: at least
# 90 % of all mutants, those on lines that no test runs included. A mutant that
# hangs the tests counts as found. Takes some minutes; survivors are printed.
# Leave the machine to it: a slow one makes mutants look as if they hung.
# Usage: scripts/mutants.sh [PACKAGE...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=v0.6.0
least=90
[ $# -gt 0 ] || set -- ./internal/coordination/kernel ./internal/coordination/election ./internal/coordination/effect ./internal/coordination/step ./contextbuild

# The kernel's walk runs once per mutant: a second's worth of it.
export MASSGEN_WALK=${MASSGEN_WALK:-small}

bin=$PWD/.cache/gremlins-$version
[ -x "$bin/gremlins" ] ||
  GOBIN=$bin GOFLAGS= go install "github.com/go-gremlins/gremlins/cmd/gremlins@$version"
report=$(mktemp)
trap 'rm -f "$report"' EXIT

# gremlins stops a mutant's tests after a multiple of the time that they took
# before. That must leave room to compile them: about a minute in all.
coefficient() {
  local start=$SECONDS
  go test -short -count=1 "$1" >/dev/null
  echo $((60 / (SECONDS - start + 1)))
}

count() { { grep -o "\"status\":\"$1\"" "$report" || true; } | wc -l; }

status=0
for package in "$@"; do
  printf '== %s\n' "$package"
  # -count=1: tests taken from the cache take no time.
  GOFLAGS="${GOFLAGS:-} -count=1 -short" "$bin/gremlins" unleash --timeout-coefficient "$(coefficient "$package")" --output "$report" --output-statuses lct "$package"
  killed=$(count KILLED)
  hung=$(count 'TIMED OUT')
  lived=$(count LIVED)
  uncovered=$(count 'NOT COVERED')
  all=$((killed + hung + lived + uncovered))
  [ "$all" -gt 0 ] || { echo "no mutants were planted"; exit 1; }
  printf '%s: %d of %d mutants found (%d hung the tests), %d survived, %d on lines that no test runs: %d %%\n' \
    "$package" $((killed + hung)) "$all" "$hung" "$lived" "$uncovered" $((100 * (killed + hung) / all))
  [ $((100 * (killed + hung))) -ge $((least * all)) ] || status=1
done
[ $status -eq 0 ] || echo "less than $least % found"
exit $status
