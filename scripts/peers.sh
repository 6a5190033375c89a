#!/usr/bin/env bash
# Measures massgen beside eino, adk-go, LangGraph and MassGen in one run, and writes
# docs/peers.md. Installs the two in Python into .cache/peers, at the versions that
# tests/bench/peers pins, the first time and when a version changes. Other arguments go to
# "go run ./tests/bench peers", as in "scripts/peers.sh -rounds 3".
set -euo pipefail
cd "$(dirname "$0")/.."
for peer in langgraph massgen; do
	home=.cache/peers/$peer
	pins=tests/bench/peers/$peer.txt
	cmp -s "$pins" "$home/installed-from" && continue
	echo "peers: installing $peer (once)" >&2
	rm -rf "$home"
	python3 -m venv "$home"
	# pip takes an hour on what uv installs in a minute: MassGen needs 265 packages.
	"$home/bin/python" -m pip install --quiet --disable-pip-version-check uv==0.13.9
	"$home/bin/uv" pip install --quiet --python "$home/bin/python" --no-deps --requirement "$pins"
	cp "$pins" "$home/installed-from"
done
go run ./tests/bench peers -write "$@"
