#!/usr/bin/env bash
# Runs the tests of tests/mcpservers, in which agents use MCP servers that others
# wrote, and the official client and conformance suite use massgen's. Installs them into .cache/mcpservers, at the versions that
# tests/mcpservers pins, the first time and when a version changes. "scripts/mcp.sh
# install" does only that. Other arguments go to go test, as in "scripts/mcp.sh -v -run
# Filesystem".
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=SCRIPTDIR/race.sh
. scripts/race.sh
home=$PWD/.cache/mcpservers
pins=$PWD/tests/mcpservers

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	echo "mcp: SKIPPED: node or npm is missing: install Node.js 20.15 or newer to have agents use real MCP servers" >&2
	exit 0
fi
if ! cmp -s "$home/installed-from" "$pins/package-lock.json"; then
	echo "mcp: installing the npm packages (once)" >&2
	rm -rf "$home"
	mkdir -p "$home"
	cp "$pins/package.json" "$pins/package-lock.json" "$home/"
	(cd "$home" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
	cp "$pins/package-lock.json" "$home/installed-from"
fi
[ "${1-}" != install ] || exit 0
go test "${race[@]}" -shuffle=on -count=1 -tags mcpservers "$@" ./tests/mcpservers
