#!/usr/bin/env bash
# Makes a release for this machine's processor twice, in two folders, and tries what came out: the files have the same
# bytes, and the package and the image play the demo on a system that has nothing else. With the folder of a release,
# such as dist, it makes none and tries the files there. "make release" makes the files for all systems.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
deploy=$PWD/deploy
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
most_image=$((30 * 1000 * 1000)) # bytes, compressed
question="What are the main benefits of renewable energy?"

fail() {
	echo "release: $*" >&2
	exit 1
}

# as_root runs a command as root of a user namespace, with mounts of its own.
as_root() { unshare --user --map-root-user --mount --pid --fork --kill-child "$@"; }

# demo checks what the demo has printed: an answer, and the notice that it is canned.
demo() {
	grep -q "canned answer" "$1.out" || fail "$2 does not play the demo: $(cat "$1.out" "$1.err")"
	grep -q "answers are canned" "$1.err" || fail "$2 does not say that its answer is canned: $(cat "$1.err")"
}

arch=$(go env GOARCH)
[ "$(go env GOOS)" = linux ] || fail "this runs on Linux only"
if [ $# -gt 0 ]; then
	dist=$(cd "$1" && pwd)
else
	# Two copies of the files as they are now, in folders whose names have another length. Neither is a repository.
	SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH-$(git show --no-patch --format=%ct HEAD)}
	export SOURCE_DATE_EPOCH
	commit=$(git rev-parse HEAD)
	(cd tools && go build -o "$work/release" ./release)
	for copy in one another/folder; do
		mkdir -p "$work/$copy"
		git ls-files -z --cached --others --exclude-standard | while IFS= read -rd '' name; do [ ! -e "$name" ] || printf '%s\0' "$name"; done |
			tar -c --null --files-from=- | tar -x -C "$work/$copy"
		(cd "$work/$copy/tools" && "$work/release" -platforms "linux/$arch" -version v0.1.0-rc.1 -commit "$commit")
	done
	dist=$work/one/dist
	diff -r "$dist" "$work/another/folder/dist" || fail "two folders give other files"
	[ "$(wc -l <"$dist/SHA256SUMS")" -eq 4 ] || fail "there are other files than an archive, two packages and an image: $(ls "$dist")"
	rm -rf "$work/another"
fi
cd "$dist"
sha256sum --quiet --check SHA256SUMS

# The archive runs where it is unpacked.
mkdir "$work/archive"
archive=$(echo massgen_*_linux_"$arch".tar.gz)
version=v${archive#massgen_} && version=${version%%_*}
tar -xzf "$archive" -C "$work/archive" --strip-components=1
for name in massgen massgen-temporal; do
	[[ $(env -i "$work/archive/$name" --version) == "massgen version $version (commit "* ]] || fail "$name --version says: $(env -i "$work/archive/$name" --version)"
done

# The files of the folder deploy use flags that the program has.
for command in worker serve; do
	"$work/archive/massgen-temporal" $command --help >"$work/help"
	used=$(grep -ohE -- '(^|[ "-])--[a-z][a-z-]+' "$deploy/systemd/massgen-$command.service" "$deploy"/kubernetes/?0-$command.yaml | grep -oE -- "--[a-z][a-z-]+" | sort -u)
	[ "$(wc -w <<<"$used")" -ge 4 ] || fail "the files of deploy use few flags of $command: $used"
	for flag in $used; do
		grep -qE -- "(^|[ ,])$flag( |\$)" "$work/help" || fail "massgen-temporal $command has no flag $flag, which deploy uses"
	done
done

# The package, installed into a root that has nothing but dpkg's own files: no library, no shell, no Go.
root=$work/root
mkdir -p "$root"/var/lib/dpkg/{info,updates} "$root/tmp" "$root/home" "$root/proc"
touch "$root"/var/lib/dpkg/{status,available}
dpkg --root="$root" --log="$work/dpkg.log" -i ./massgen_*_"$arch".deb >"$work/dpkg.out" 2>&1 || fail "dpkg: $(cat "$work/dpkg.out")"
# shellcheck disable=SC2016 # the inner shell expands these
as_root bash -euc 'mount -t proc proc "$1/proc"; exec env -i HOME=/home "$(command -v unshare)" --root="$1" --wd=/home /usr/bin/massgen "$2"' \
	package "$root" "$question" >"$work/deb.out" 2>"$work/deb.err" ||
	fail "the package's program fails: $(cat "$work/deb.err")"
demo "$work/deb" "the package's program"
for name in etc/massgen/massgen.env usr/share/man/man1/massgen-temporal.1 usr/share/bash-completion/completions/massgen-temporal \
	usr/share/zsh/vendor-completions/_massgen usr/share/fish/vendor_completions.d/massgen.fish usr/share/doc/massgen/THIRD_PARTY_NOTICES.txt; do
	[ -s "$root/$name" ] || fail "the package has no $name"
done
for name in massgen massgen-temporal; do
	cmp "$root/usr/bin/$name" "$work/archive/$name" || fail "the package has another $name than the archive"
done
[ "$(stat -c %a "$root/etc/massgen/massgen.env")" = 600 ] || fail "others may read massgen.env, which has passwords"
if command -v systemd-analyze >/dev/null; then
	mkdir "$work/units"
	for unit in worker serve; do
		sed "s|=/usr/bin/|=$root/usr/bin/|" "$root/usr/lib/systemd/system/massgen-$unit.service" >"$work/units/massgen-$unit.service"
	done
	said=$(systemd-analyze verify --man=no "$work"/units/*.service 2>&1) && [ -z "$said" ] || fail "systemd-analyze: $said"
fi
if command -v rpm >/dev/null; then
	rpm -qp --nosignature --queryformat '[%{FILENAMES} %{FILEMODES:octal} %{FILEUSERNAME}\n]' ./*.rpm >"$work/rpm.out"
	grep -qx '/usr/bin/massgen-temporal 100755 root' "$work/rpm.out" || fail "the RPM has other files: $(cat "$work/rpm.out")"
fi

# The image: its root, read-only, with a user who is nobody, and the two volumes.
bytes=$(wc -c <massgen-temporal_*_linux_"$arch"_image.tar)
[ "$bytes" -le $most_image ] || fail "the image has $bytes bytes, more than $most_image"
mkdir "$work/oci" "$work/image"
tar -xf massgen-temporal_*_linux_"$arch"_image.tar -C "$work/oci"
blob() { echo "$work/oci/blobs/${1/:/\/}"; }
# The files are one line of JSON each.
digest() { sed "s/.*\"$1\":[^]]*\"digest\":\"\\(sha256:[0-9a-f]*\\)\".*/\\1/" "$2"; }
manifest=$(blob "$(tr -d ' \n' <"$work/oci/index.json" | sed 's/.*"digest":"\(sha256:[0-9a-f]*\)".*/\1/')")
tr -d ' \n' <"$manifest" >"$work/manifest"
settings=$(blob "$(sed 's/.*"config":{[^}]*"digest":"\(sha256:[0-9a-f]*\)".*/\1/' "$work/manifest")")
grep -q '"User":"65532:65532"' "$settings" || fail "the image runs as another user: $(cat "$settings")"
tar -xzf "$(blob "$(digest layers "$work/manifest")")" -C "$work/image" --no-same-owner
cmp "$work/image/usr/bin/massgen-temporal" "$work/archive/massgen-temporal" || fail "the image has another massgen-temporal than the archive"
# shellcheck disable=SC2016 # the inner shell expands these
as_root bash -euc '
	mount --bind "$1" "$1"
	mount -t proc proc "$1/proc"
	mount -t tmpfs tmpfs "$1/tmp"
	mount -t tmpfs -o mode=1777 tmpfs "$1/var/lib/massgen"
	mount -o remount,bind,ro "$1"
	! touch "$1/etc/written" 2>/dev/null || { echo "the root is not read-only" >&2; exit 1; }
	exec env -i PATH=/usr/bin HOME=/var/lib/massgen XDG_STATE_HOME=/var/lib "$(command -v unshare)" --user --map-user=65532 --map-group=65532 \
		--root="$1" --wd=/var/lib/massgen /usr/bin/massgen-temporal --engine local "$2"
' image "$work/image" "$question" >"$work/image.out" 2>"$work/image.err" || fail "the image fails: $(cat "$work/image.err")"
demo "$work/image" "the image"
[ $# -gt 0 ] || echo "release: the same bytes in two folders"
echo "release: the archive, the package and the image ($bytes bytes) run"
