# shellcheck shell=bash
# What the scripts that take pictures of the demo share: builds the program into $work, and leaves a
# home of its own in which nobody's keys and settings count, neither those of the environment nor
# those of a file .env. $root and $work are set by then.
(cd "$root" && CGO_ENABLED=0 go build -trimpath -o "$work/massgen" ./cmd/massgen)
for name in $(compgen -e); do
	case $name in *_API_KEY) unset "$name" ;; esac
done
mkdir "$work/home"
cd "$work/home"
export HOME=$PWD XDG_CONFIG_HOME=$PWD XDG_STATE_HOME=$PWD
