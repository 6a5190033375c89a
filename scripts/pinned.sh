# shellcheck shell=bash
# What scripts/judges.sh and scripts/clients.sh share: installs programs of others at the versions
# that tests/$name pins into .cache/$name, the first time and when a version changes. Its words are
# those of the script that sources it: "install", "install node" or "install python" end it when
# that is done. $name is set by then.
home=$PWD/.cache/$name
pins=$PWD/tests/$name

fail() {
	echo "$name: $*" >&2
	exit 1
}

# installed FOLDER FILE reports whether FOLDER was made from FILE as it is now.
installed() { cmp -s "$2" "$1/installed-from"; }

install_node() {
	command -v npm >/dev/null || fail "npm is missing: install Node.js 20.15 or newer"
	echo "$name: installing the npm packages (once)" >&2
	rm -rf "$home/node"
	mkdir -p "$home/node"
	cp "$pins/package.json" "$pins/package-lock.json" "$home/node/"
	(cd "$home/node" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
	cp "$pins/package-lock.json" "$home/node/installed-from"
}

install_python() {
	command -v python3 >/dev/null || fail "python3 is missing: install Python 3.10 or newer"
	echo "$name: installing the Python packages (once)" >&2
	rm -rf "$home/python"
	python3 -m venv "$home/python" || python3 -m virtualenv "$home/python" ||
		fail "python3 can make no virtual environment: install python3-venv"
	"$home/python/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$pins/requirements.txt"
	cp "$pins/requirements.txt" "$home/python/installed-from"
}

only=
[ "${1-}" != install ] || only=${2-all}
[ "$only" = python ] || installed "$home/node" "$pins/package-lock.json" || install_node
[ "$only" = node ] || installed "$home/python" "$pins/requirements.txt" || install_python
[ -z "$only" ] || exit 0
