#!/usr/bin/env bash
# Runs all tests RUNS times (5) as the gate does, in random order and beside four busy
# processes, and lists each test whose outcome is not the same in all runs.
# What a run has come to stays in .cache/flaky/COMMIT/run-K: a second call goes on with
# what is missing. The exit status is 0 if nothing differed and nothing failed, else 1.
# RUNS=n sets the number of runs, PACKAGES="./sessions/... ./tests" those that are tested.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

runs=${RUNS:-5}
read -ra packages <<<"${PACKAGES:-./...}"
busy=4
at_once=4 # packages, as in .ci/run

# No test may reach a provider, and a program with the race detector ends at once.
for name in $(compgen -e); do
	case $name in *_API_KEY) export "$name=" ;; esac
done
unset MASSGEN_WALK MASSGEN_KEYS LOG_LEVEL NO_COLOR
# shellcheck source=SCRIPTDIR/race.sh
. scripts/race.sh
export race_flags="${race[*]}"

fail() {
	echo "flaky: $*" >&2
	exit 1
}

[[ $runs =~ ^[1-9][0-9]*$ ]] || fail "RUNS=$runs is no number of runs"

# state names what is tested: the commit, what is not committed yet, and the packages if
# they are not all.
state() {
	local name more
	name=$(git rev-parse --short=12 HEAD)
	more=$({ git diff HEAD && git ls-files -z --others --exclude-standard | xargs -0r cat; } | cksum | cut -d ' ' -f 1)
	[ -z "$(git status --porcelain)" ] || name+=-changed-$more
	[ "${packages[*]}" = ./... ] || name+=-$(printf '%s' "${packages[*]}" | cksum | cut -d ' ' -f 1)
	echo "$name"
}
kept=$PWD/.cache/flaky/$(state)
mkdir -p "$kept"

# The tests are a process group of their own, so that all of them can be ended.
group= remover=
finish() {
	[ -z "$group" ] || kill -- "-$group" 2>/dev/null || true
	be_idle
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# in_group runs a command, which a signal to this script does not have to wait for.
in_group() {
	local status=0
	set -m
	"$@" </dev/null 3>&- &
	group=$!
	set +m
	wait "$group" || status=$?
	group=
	return $status
}

# be_busy starts the busy processes. Their parent reads until the last holder of its
# input, this script, has ended, in whatever way, and ends them.
be_busy() {
	exec 3> >(
		trap '' INT TERM HUP
		pids=()
		for ((i = 0; i < busy; i++)); do
			sh -c 'while :; do :; done' </dev/null >/dev/null 2>&1 &
			pids+=($!)
		done
		cat >/dev/null
		kill -9 "${pids[@]}"
	)
	remover=$!
}

# be_idle returns when the busy processes have ended.
be_idle() {
	[ -n "$remover" ] || return 0
	exec 3>&-
	wait "$remover" || true # its status says nothing of the tests
	remover=
}

# binary prints the file of a package's tests.
binary() { echo "$kept/bin/${1//\//_}.test"; }

# build compiles a package's tests, unless that was done before. As in the gate, packages
# without goroutines have no race detector.
build() {
	local to flags=$race_flags
	to=$(binary "$1")
	! grep -qxF "${1#github.com/massgen/massgen/}" tests/arch/pure.txt || flags=
	# shellcheck disable=SC2086 # they are several
	[ -x "$to" ] || { go test $flags -ldflags='-s -w' -c -o "$to.part" "$1" && mv "$to.part" "$to"; }
}

# test_package runs a package's tests in a folder as go test does. NAME.log has what they
# print, NAME.json what became of them; the latter is there when they are over.
test_package() {
	local to=$1 package=$2 dir=$3 seed
	local log=$to/${package//\//_}.log json=$to/${package//\//_}.json
	[ ! -e "$json" ] || return 0
	seed=$(<"$to/seed")
	cd "$dir"
	# shellcheck disable=SC2016 # the inner shell has the variables
	log=$log go tool test2json -t -p "$package" bash -c 'set -o pipefail; "$0" "$@" 2>&1 | tee "$log"' \
		"$(binary "$package")" -test.v=test2json -test.paniconexit0 -test.timeout=60m -test.shuffle="$seed" >"$json.part" || true # it is in the events
	mv "$json.part" "$json"
}
export -f binary build test_package
export kept

# outcomes prints the outcome of each test in a run: "OUTCOME PACKAGE TEST", or without a
# test that of the package. One that has begun and did not end is cut.
outcomes() {
	cat "$1"/*.json |
		sed -nE 's/^\{"Time":"[^"]*","Action":"(run|pass|fail|skip)","Package":"([^"]*)"(,"Test":"(([^"\\]|\\.)*)")?.*/\1\t\2\t\4/p' |
		awk -F '\t' -v OFS='\t' '
			$1 != "run" || !(($2, $3) in outcome) { outcome[$2, $3] = $1 == "run" ? "cut" : $1 }
			END { for (test in outcome) { split(test, of, SUBSEP); print outcome[test], of[1], of[2] } }'
}

# compare prints each test that failed, or that came to something else in some run, with
# the logs to look into, and at last a summary. A package is listed if none of its tests
# is. A subtest that some run does not have is no difference: how many there are may
# depend on chance.
compare() {
	local run
	for ((run = 1; run <= runs; run++)); do
		outcomes "$kept/run-$run" | sed "s/^/$run\t/"
	done | LC_ALL=C sort -t $'\t' -k 3,4 -k 1,1n | awk -F '\t' -v runs="$runs" -v kept="${kept#"$PWD/"}" '
		function list() {
			printf "%s", listing
			if (differs) differing++; else failing++
			listing = ""
		}
		function describe(  run, name) {
			listing = package " " (test == "" ? "as a whole" : test) ":"
			for (run = 1; run <= runs; run++) listing = listing " " (outcome[run] == "" ? "-" : outcome[run])
			listing = listing "\n"
			name = package
			gsub("/", "_", name)
			for (run = 1; run <= runs; run++) if (outcome[run] !~ /^(pass|skip|)$/) listing = listing sprintf("    %s/run-%d/%s.log\n", kept, run, name)
		}
		function end_test(  run, first, fails, was_differing) {
			if (package == "") return
			tests += test != ""
			was_differing = differs
			differs = 0
			for (run = 1; run <= runs; run++) {
				if (outcome[run] == "" && index(test, "/")) continue
				if (outcome[run] == "") outcome[run] = "missing"
				if (first == "") first = outcome[run]
				if (outcome[run] != first) differs = 1
				if (outcome[run] !~ /^(pass|skip)$/) fails = 1
			}
			if (!differs && !fails) { differs = was_differing; return }
			describe()
			if (test != "") list() # else after the tests of the package
		}
		$3 "\t" $4 != key {
			end_test()
			if ($3 != package && listing != "") list()
			key = $3 "\t" $4
			package = $3
			test = $4
			split("", outcome)
		}
		{ outcome[$1] = $2 }
		END {
			end_test()
			if (listing != "") list()
			printf "flaky: %d runs, %d tests, %s", runs, tests, differing ? differing " differ" : "no difference"
			if (failing) printf ", %d fail in every run", failing
			print ""
			exit tests == 0 || differing || failing
		}'
}

# missing prints the runs that have not come to their end.
missing() {
	local run
	for ((run = 1; run <= runs; run++)); do
		[ -e "$kept/run-$run/finished" ] || echo "$run"
	done
}

# run_missing builds the tests, and then makes the runs that are missing.
run_missing() {
	local list=$kept/packages run
	go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}' "${packages[@]}" | sed '/^$/d' >"$list"
	mkdir -p "$kept/bin"
	in_group xargs -a "$list" -P "$(nproc)" -L 1 bash -c 'set -euo pipefail; build "$1"' build || fail "the tests do not build"
	be_busy
	for run in "$@"; do
		mkdir -p "$kept/run-$run"
		[ -e "$kept/run-$run/seed" ] || date +%s%N >"$kept/run-$run/seed"
		echo "flaky: run $run of $runs, -shuffle=$(<"$kept/run-$run/seed")"
		in_group xargs -a "$list" -P "$at_once" -L 1 bash -c 'set -euo pipefail; test_package "$@"' test "$kept/run-$run" || fail "run $run did not end"
		touch "$kept/run-$run/finished"
	done
	be_idle
	rm -rf "$kept/bin" # they are large
}

mapfile -t left < <(missing)
[ ${#left[@]} -eq 0 ] || run_missing "${left[@]}"
compare
