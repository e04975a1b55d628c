# make demo    build, then show the main things in a minute
# make test    install what the tests need, then run them all
# make attacks run the corpus of attacks against policy and sandbox, print how many each held
# make bench   measure against bash and the GNU tools, write bench/RESULTS.md
# make images  install and start Docker where that is possible, build the environments
# make bench-containers  measure tasks in containers beside Docker itself, write bench/CONTAINERS.md

export CGO_ENABLED = 0
GOFLAGS_BUILD = -trimpath -ldflags '-s -w'

.PHONY: build demo test test-short attacks check fuzz bench bench-containers images tools bench-tools clean

build:
	go build $(GOFLAGS_BUILD) -o bin/hako ./cmd/hako

demo: build
	./bin/hako demo

test: tools check images
	HAKO_REQUIRE_TOOLS=1 go test -timeout 20m ./...
	CGO_ENABLED=1 go test -race -short -timeout 20m ./internal/...
	cd internal/fakes/clients && go vet ./... && go test -timeout 20m ./...
	$(MAKE) fuzz

# test-short runs without installing anything; what is missing is skipped aloud.
test-short:
	go test -short ./...

# attacks is a part of test; here it runs alone and shows its numbers. It fails
# where they are below what the test aims at.
attacks: tools
	@table=$$(mktemp) && trap 'rm -f "$$table"' EXIT && status=0 && \
	{ HAKO_REQUIRE_TOOLS=1 HAKO_ATTACK_TABLE="$$table" go test -count=1 -timeout 20m -run '^TestAttacks$$' ./internal/host || status=$$?; } && \
	cat "$$table" && exit $$status

check:
	@files=$$(gofmt -s -l cmd internal bench); test -z "$$files" || { echo "gofmt -s would change: $$files"; exit 1; }
	go vet ./...
	GOOS=darwin go build -o /dev/null ./cmd/hako
	GOOS=windows go build -o /dev/null ./cmd/hako
	go tool staticcheck ./...

FUZZTIME ?= 4s

fuzz:
	./scripts/fuzz.sh $(FUZZTIME)

bench: bench-tools
	go run ./bench

bench-containers: images
	go run ./bench/containers

# images needs Docker. Where there is none and none can be installed, it says so
# and the tests that need containers are skipped aloud, unless they must not be.
images: build
	./scripts/docker.sh
	@if docker info >/dev/null 2>&1; then ./scripts/bases.sh && ./bin/hako env build --no-config; fi

tools:
	./scripts/tools.sh test

bench-tools:
	./scripts/tools.sh bench

clean:
	rm -rf bin bench/data
