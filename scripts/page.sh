#!/usr/bin/env bash
# Has a browser use the page of "massgen serve", as a person would, and judges what it sees.
# Installs what drives the browser into .cache/page, at the versions that tests/page pins, the
# first time and when a version changes. "scripts/page.sh install" does only that.
# "scripts/page.sh pictures" writes the pictures of docs/server.md, and one of each screen of a turn
# into .cache/page/pictures; "scripts/page.sh update" writes the text of those screens into
# tests/page/scenes.txt. "scripts/page.sh long" takes two minutes and judges what the page costs.
# CHROMIUM names another browser than the one in the PATH.
set -euo pipefail
cd "$(dirname "$0")/.."
home=$PWD/.cache/page
pins=$PWD/tests/page

if ! cmp -s "$home/installed-from" "$pins/package-lock.json"; then
	echo "page: installing the npm packages (once)" >&2
	rm -rf "$home"
	mkdir -p "$home"
	cp "$pins/package.json" "$pins/package-lock.json" "$home/"
	(cd "$home" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
	cp "$pins/package-lock.json" "$home/installed-from"
fi
[ "${1-}" != install ] || exit 0
browser=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || true)}
[ -n "$browser" ] || { echo "page: there is no chromium: install it, as with apt-get install chromium, or name one by CHROMIUM" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o "$work/massgen" ./cmd/massgen
cp "$pins"/*.mjs "$home/"
if [ "${1-}" = long ]; then
	node "$home/long.mjs" "$work" "$browser"
	exit
fi
mkdir "$work/scenes"
ln "$work/massgen" "$work/scenes/massgen"
node "$home/scenes.mjs" "$work/scenes" "$browser" "$pins/scenes.txt" "${1-}"
[ "${1-}" != update ] || exit 0
node "$home/page.mjs" "$work" "$browser" "${1-}"
if [ "${1-}" = pictures ]; then
	rm -rf "$home/pictures"
	mv "$work/scenes/pictures" "$home/"
	for name in page page-running page-how page-dark page-permission page-phone; do
		cp "$work/pictures/$name.png" docs/
	done
fi
