#!/usr/bin/env bash
# Runs the tests of tests/wheel, which run configs of MassGen's wheel with functions in Python. Installs the wheel
# without its dependencies into .cache/wheel, at the version that tests/wheel pins, the first time and when the version
# changes. "scripts/wheel.sh install" does only that. Other arguments go to go test, as in "scripts/wheel.sh -v".
set -euo pipefail
cd "$(dirname "$0")/.."
home=$PWD/.cache/wheel
pins=$PWD/tests/wheel/requirements.txt
if ! cmp -s "$home/installed-from" "$pins"; then
	echo "wheel: installing MassGen's wheel (once)" >&2
	rm -rf "$home"
	python3 -m venv "$home/python" || python3 -m virtualenv "$home/python" ||
		{ echo "wheel: python3 can make no virtual environment: install python3-venv" >&2; exit 1; }
	"$home/python/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --target "$home/site" --requirement "$pins"
	cp "$pins" "$home/installed-from"
fi
[ "${1-}" != install ] || exit 0
go test -count=1 -tags wheel "$@" ./tests/wheel
