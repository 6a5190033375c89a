#!/usr/bin/env bash
# Runs the tests of tests/clients, in which clients that others wrote use "massgen serve".
# Installs the clients into .cache/clients, at the versions that tests/clients pins, the
# first time and when a version changes. "scripts/clients.sh install", or "install node" or
# "install python", does only that. Other arguments go to go test, as in
# "scripts/clients.sh -v -run CommandLine".
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=SCRIPTDIR/race.sh
. scripts/race.sh
name=clients
# shellcheck source=SCRIPTDIR/pinned.sh
. scripts/pinned.sh
go test "${race[@]}" -shuffle=on -count=1 -tags clients "$@" ./tests/clients
