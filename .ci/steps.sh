# The steps of .ci/run, a function each. $work is a folder that goes when the gate ends.
# shellcheck shell=bash

golangci_version=v2.15.0 # carries staticcheck v0.8.2
fuzz_seconds=${FUZZ_SECONDS:-5}
most_bytes=$((60 * 1000 * 1000)) # of the binary as "make build" makes it (DESIGN.md, section 9)
main_command=(go run ./cmd/massgen --config configs/three_agents.yaml "What are the main benefits of renewable energy?")
# shellcheck source=SCRIPTDIR/../scripts/race.sh
. scripts/race.sh

# These packages cannot have a race: tests/arch proves with their types that the pure ones
# start no goroutine and share nothing, two others only look at sources, and ./tests/keys is like those below.
mapfile -t without_race < <(sed 's|^|./|' tests/arch/pure.txt)
without_race+=(./tests/arch ./tests/faults ./tests/keys)
# These start the program hundreds of times, or measure it: as "make build" builds it, since with the
# race detector each start takes ten times as long. The long form has them with it too.
shipped=(./cmd/massgen/app ./tests/streams)
# What the step random runs in full, and so the step tests not at all.
elsewhere='^(TestSimulation|TestBudgetIsNeverExceeded)$'

# No test or command may reach a provider. A variable that is set to nothing also
# hides one that a developer has in .env.
for name in OPENAI ANTHROPIC CLAUDE GEMINI GOOGLE AZURE_OPENAI XAI GROK GROQ OPENROUTER TOGETHER \
  FIREWORKS DEEPSEEK MISTRAL CEREBRAS MOONSHOT KIMI QWEN DASHSCOPE NEBIUS ZAI POE; do
  export "${name}_API_KEY="
done
for name in $(compgen -e); do
  case $name in *_API_KEY) export "$name=" ;; esac
done
unset MASSGEN_WALK MASSGEN_KEYS LOG_LEVEL NO_COLOR

fail() {
  printf 'FAILED: %s\n' "$*"
  exit 1
}

# The step lint has go vet, so "go test" leaves it out, here and in the scripts.
export GOFLAGS=-vet=off

# as_built has Go compile as "make build" does. The gate compiles everything in this form and
# with the race detector, and in no third form: each takes minutes of processor time.
as_built() { export CGO_ENABLED=0 GOFLAGS='-trimpath -vet=off'; }

format() {
  local bad
  bad=$(git ls-files -z --cached --others --exclude-standard '*.go' | xargs -0 gofmt -l)
  [ -z "$bad" ] || fail "gofmt would change: $bad"
}

modules() {
  go mod download & (cd temporal && go mod download) & (cd tools && go mod download)
  wait
  go mod tidy -diff || fail "go mod tidy would change go.mod or go.sum"
  (cd temporal && go mod tidy -diff) || fail "go mod tidy would change temporal/go.mod or temporal/go.sum"
  (cd tools && go mod tidy -diff) || fail "go mod tidy would change tools/go.mod or tools/go.sum"
  go mod verify
  (cd temporal && go mod verify)
  (cd tools && go mod verify)
}

# What programs of others the tests need, at the versions that their scripts pin.
node() {
  bash scripts/judges.sh install node
  bash scripts/clients.sh install node
  bash scripts/mcp.sh install
  bash scripts/page.sh install
}
python() {
  bash scripts/judges.sh install python
  bash scripts/clients.sh install python
  bash scripts/temporal.sh install
}
debian() {
  local missing=()
  compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null || missing+=(postgresql)
  [ -x /usr/sbin/pgbouncer ] || missing+=(pgbouncer)
  command -v tmux >/dev/null || missing+=(tmux)
  [ -n "${CHROMIUM-}" ] || command -v chromium >/dev/null || missing+=(chromium)
  command -v screen >/dev/null || missing+=(screen)
  command -v prometheus >/dev/null && command -v promtool >/dev/null || missing+=(prometheus)
  [ ${#missing[@]} -eq 0 ] && return
  [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null || fail "install what is missing, as with apt-get install ${missing[*]}"
  apt-get update -q && apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# with_race prints the packages that are tested with the race detector.
with_race() { go list "$@" ./... | grep -vxF "$(go list "${without_race[@]}" "${shipped[@]}")"; }

# go list compiles what it is asked to export, tests included, and links nothing.
compiled() { go list -export -deps -test "${race[@]}" "$@" >/dev/null; }
compile_race() {
  local packages
  mapfile -t packages < <(with_race -tags judges,mcpservers,clients)
  compiled -tags judges,mcpservers,clients "${packages[@]}"
  (cd temporal && compiled ./engine ./postgres)
}

binary() {
  as_built
  make build BINARY="$work/massgen"
  local bytes
  bytes=$(wc -c <"$work/massgen")
  echo "the binary has $bytes bytes"
  [ "$bytes" -lt "$most_bytes" ] || fail "the binary has $bytes bytes, $most_bytes or more"
}

# The README's command, without a key: the answer on stdout, the notice that it
# is canned on stderr.
main_command() {
  as_built
  grep -qF "$(printf '%s %s %s %s %s "%s"' "${main_command[@]}")" README.md || fail "README.md has another main command"
  local status=0
  "${main_command[@]}" >"$work/out" 2>"$work/err" || status=$?
  cat "$work/err" "$work/out"
  [ $status -eq 0 ] || fail "the main command exits with $status"
  [ -s "$work/out" ] || fail "the main command answers nothing on stdout"
  grep -qi canned "$work/err" || fail "the main command does not say on stderr that its answer is canned"
  ! grep -q "^massgen:" "$work/out" || fail "a notice is on stdout"
  [[ $(<README.md) == *"$(<"$work/out")"* ]] || fail "README.md records another answer"
}

# go_test runs go test. Of a failure it prints all but what passed. A test that skips
# itself is a failure too: nobody would see that it did not run.
go_test() {
  local status=0 out
  out=$(mktemp -p "$work")
  go test -v -shuffle=on "$@" >"$out" 2>&1 || status=$?
  if [ $status -ne 0 ]; then
    grep -vE '^ *(=== |--- PASS)|^PASS$|no test files' "$out" | tail -300
    echo 'what failed:'
    grep -E -A 40 '^ *--- FAIL|^panic: |DATA RACE' "$out" | grep -vE '^ *(=== |--- PASS)' | head -200
    grep -E '^ *--- FAIL|^FAIL' "$out" || true
    # Repeat the seeds at the end, where readers look first.
    grep -oE 'FIRST_SEED=[0-9]+ SEEDS=1|-rapid\.(seed|failfile)=[^ )]+' "$out" | sort -u || true
    awk -F '\t' '/^-test\.shuffle/ { seed = $0 } /^FAIL\t/ { print $2 ": " seed } /^(ok|FAIL)\t/ { seed = "" }' "$out"
    fail "go test exits with $status"
  fi
  if grep -E '^ *--- SKIP' "$out"; then fail "tests were skipped"; fi
  grep -E '^ok|walk:|seeds from|points of|pairs of|processes$|exceed' "$out"
}

# The README's test command, in two steps: with the race detector, and what needs none. The
# second has what the README's leaves out: planted faults, and keys in every way.
tests() {
  local packages
  mapfile -t packages < <(with_race)
  go_test "${race[@]}" -p 3 -parallel 6 -timeout 30m -skip "$elsewhere" "${packages[@]}"
  as_built
  go_test -parallel 6 -timeout 30m "${shipped[@]}"
}
pure() {
  as_built
  MASSGEN_KEYS=all MASSGEN_FAULTS=$(($(git rev-list --count HEAD) % 6))/6 go_test -timeout 60m -tags faults "${without_race[@]}"
}

# Turns under all that can happen to one, from 10,000 seeds, and 1,000 turns with a budget.
random() {
  as_built
  SEEDS=${SEEDS:-10000} go_test -count=1 -timeout 15m -run '^(TestSimulation|TestBudgetIsNeverExceeded)$' ./coordinator
}

# kill -9 at every write: the step tests does it at some.
kill9() { as_built && go_test -count=1 -timeout 10m -parallel 4 -run '^TestKill9' ./tests -kill-everywhere; }

# What programs of others say of the adapters and of the MCP client.
judges() {
  bash scripts/judges.sh
  bash scripts/mcp.sh
}

# Clients that others wrote use the server.
clients() { bash scripts/clients.sh; }

# The real program in a terminal of tmux, by its keys.
screens() { as_built && go test -count=1 -tags tmux -run 'TestFullScreen|TestTerminalIsRestored|TestSystemEndsTheScreen|TestFacesSayTheSame' ./cmd/massgen/app; }

# The nested module, with real servers. Its engine and its store are tested with the race detector, and its program,
# of which the tests start thousands, as it is shipped: the step long_kills has that with the race detector too.
temporal() {
  bash scripts/temporal.sh ./engine ./postgres
  (as_built && MASSGEN_RACE='' bash scripts/temporal.sh ./cmd/massgen-temporal)
}

# time_is_up reports whether a fuzz test failed only because its time was over. Before Go
# 1.27, it can take that for an error (https://go.dev/issue/75804); whatever it finds
# has lines of its own, and a file, also where it was still being made smaller.
time_is_up() {
  local found
  grep -qx '    context deadline exceeded' "$1" &&
    ! grep -qvE '^(fuzz: elapsed: .*|--- FAIL: Fuzz[[:alnum:]_]+ \([0-9.]+s\)|    context deadline exceeded|FAIL|exit status 1|FAIL[[:space:]].*)$' "$1" &&
    awk -v least="$fuzz_seconds" '/^--- FAIL/ { gsub(/[(s)]/, "", $4); took = $4 } END { exit !(took + 0 >= least + 0) }' "$1" &&
    found=$(find . -path '*/testdata/fuzz/*' -newer "$work/fuzzers") && [ -z "$found" ] &&
    echo "what failed is only that its time was over:"
}

# fuzz_one FOLDER NAME fuzzes with the binary $work/fuzz/FOLDER/test.
fuzz_one() {
  local log=$work/fuzz/$1/$2.log
  (cd "$1" && "$work/fuzz/$1/test" -test.run '^$' -test.fuzz "^$2\$" -test.fuzztime "${fuzz_seconds}s" -test.parallel 1 \
    -test.fuzzcachedir "$work/fuzz/$1/cache") >"$log" 2>&1 || time_is_up "$log" || { cat "$log"; fail "$1 $2"; }
  printf '%s %s: %s\n' "$1" "$2" "$(grep elapsed "$log" | tail -1)"
}

# Every fuzz test that there is, two at a time. "go test -fuzz" compiles all dependencies
# anew to see their coverage, too; that of massgen's own packages is what guides here.
fuzz() {
  as_built
  local dir name
  mkdir -p "$work/fuzz"
  touch "$work/fuzzers"
  git grep -oE '^func Fuzz[[:alnum:]_]+' -- '*_test.go' | sed -E 's|/[^/]*_test.go:func | |' | sort -u >"$work/fuzz/targets"
  [ "$(wc -l <"$work/fuzz/targets")" -ge 12 ] || fail "fuzz tests are missing"
  cut -d' ' -f1 "$work/fuzz/targets" | sort -u | while read -r dir; do
    mkdir -p "$work/fuzz/$dir"
    go test -c -ldflags='-s -w' -o "$work/fuzz/$dir/test" -gcflags='github.com/massgen/massgen/...=-d=libfuzzer' "./$dir"
  done
  export work fuzz_seconds
  export -f fuzz_one time_is_up fail
  xargs -P 2 -L 1 bash -euc 'fuzz_one "$@"' fuzz <"$work/fuzz/targets"
}

linter() {
  as_built
  local bin=$PWD/.cache/golangci-lint-$golangci_version
  [ -x "$bin/golangci-lint" ] || GOBIN=$bin go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$golangci_version"
}

# Chromium on the web page of the real program.
page() { as_built && bash scripts/page.sh; }

# With the flags of the tests, so that the types of dependencies are compiled already. Here and
# in cross, a garbage collector that runs less often saves a quarter of the processor time.
lint() {
  local linter=$PWD/.cache/golangci-lint-$golangci_version/golangci-lint
  export GOFLAGS="${race[*]}" GOGC=400
  "$linter" run ./...
  (cd temporal && "$linter" run --config ../.golangci.yml ./...)
  (cd tools && "$linter" run --config ../.golangci.yml ./...)
}

# The types of all packages and tests as other systems see them.
cross() { as_built && GOGC=400 go_test -count=1 -tags cross ./tests/cross; }

# The files of the folder deploy, as the programs that read them see them, and what makes a release.
deploy() {
  as_built
  (cd tools && go_test -count=1 ./...)
  promtool check config --syntax-only deploy/prometheus/compose.yml
  promtool check rules deploy/prometheus/alerts.yml
  promtool test rules deploy/prometheus/alerts_test.yml
}

# A release of this machine's system, twice; its package is installed, and its image run.
release() { as_built && bash scripts/release.sh; }

# The long forms.
long_race() { go_test "${race[@]}" -count=1 -timeout 60m ./...; }
long_kills() {
  bash scripts/temporal.sh ./cmd/massgen-temporal -kill-everywhere
  bash scripts/temporal.sh ./postgres -rapid.checks=30
}
long_walk() { make walk; }
long_seeds() { make soak; }
long_fuzz() {
  fuzz_seconds=${FUZZ_SECONDS:-60}
  fuzz
}
long_cross() {
  as_built
  (cd tools && go run ./release -out "$work/dist")
}
long_mutants() {
  make mutants
  (as_built && go_test -count=1 -timeout 60m -tags faults ./tests/faults)
}
# Configs of MassGen's wheel with functions in Python run to their end.
long_wheel() { as_built && bash scripts/wheel.sh; }

# summary prints of a step's log what people want to see when all has passed.
summary() {
  case $1 in
    tests | pure | random | kill9 | judges | clients | temporal | fuzz | cross) grep -aE '^ok|walk:|seeds from|points of|pairs of|processes$|exceed|execs' "$logs/$1.log" || true ;;
    deploy) grep -aE '^ok|SUCCESS' "$logs/$1.log" || true ;;
    release) grep -aE '^release:' "$logs/$1.log" || true ;;
    binary | main_command) cat "$logs/$1.log" ;;
  esac
}
