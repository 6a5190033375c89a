#!/usr/bin/env bash
# Runs the tests of tests/judges, which let programs that others wrote judge the
# adapters. Installs those programs into .cache/judges, at the versions that
# tests/judges pins, the first time and when a version changes. "scripts/judges.sh
# install", or "install node" or "install python", does only that. Other arguments go to
# go test, as in "scripts/judges.sh -v -run Panel".
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=SCRIPTDIR/race.sh
. scripts/race.sh
name=judges
# shellcheck source=SCRIPTDIR/pinned.sh
. scripts/pinned.sh
# The judges wait more than they work.
go test "${race[@]}" -shuffle=on -count=1 -parallel 8 -tags judges "$@" ./tests/judges
