# make demo    build, then show the main things in two minutes
# make demo-agent  the coding agent against a GitHub that is played on this machine
# make test    install what the tests need, then run the quick ones (10 minutes)
# make test-all  the rest: long tests, race detector, fuzzing, other systems, linters (30 minutes)
# make attacks run the corpus of attacks against policy and sandbox, print how many each held
# make bench   measure against bash and the GNU tools, write bench/RESULTS.md
# make install  put program, manual pages and completions below PREFIX (and DESTDIR)
# make release  archives for six platforms, checksums and SBOMs in dist/
# make image   a container image of hako itself, from scratch
# make images  install and start Docker where that is possible, build the environments
# make bench-containers  measure tasks in containers beside Docker itself, write bench/CONTAINERS.md
# make bench-scale  measure the coding agent with a played forge, model and containers, write bench/SCALE.md

export CGO_ENABLED = 0
# Clones in other directories share the build cache.
export GOFLAGS = -trimpath
VERSION ?= $(shell git describe --tags --dirty 2>/dev/null || echo devel)
LDFLAGS = -ldflags '-s -w -X main.version=$(VERSION)'

.PHONY: build man completions install uninstall release release-check image demo demo-agent test test-all test-short attacks format check fuzz bench bench-containers bench-scale images tiny tools bench-tools clean

build:
	go build $(LDFLAGS) -o bin/ ./cmd/hako ./cmd/llmsh

# man and completions go where git does not look; install and release take them from there.
SHARE = bin/share

man:
	rm -rf $(SHARE)/man && go run ./cmd/hako man $(SHARE)/man/man1

completions: build
	mkdir -p $(SHARE)/completions
	for shell in bash zsh fish; do ./bin/hako completion $$shell >$(SHARE)/completions/hako.$$shell || exit 1; done

PREFIX ?= /usr/local
export PREFIX DESTDIR

install: build man completions
	./scripts/install.sh install

uninstall:
	./scripts/install.sh uninstall

# release makes the same bytes from the same sources. release-check asks goreleaser
# whether .goreleaser.yaml, the recipe for a forge, is in order.
release: man
	rm -rf dist && go run ./packaging/release -version $(VERSION)

GORELEASER ?= go run github.com/goreleaser/goreleaser/v2@v2.12.7

release-check:
	$(GORELEASER) check

IMAGE ?= hako:latest

image:
	VERSION=$(VERSION) ./scripts/image.sh $(IMAGE)

demo: build
	./bin/hako demo

# PROVIDER=gitlab PROJECT=node shows the other ways.
PROVIDER ?= github
PROJECT ?= python

demo-agent: build images
	@go run ./internal/fakes/forge/show $(PROVIDER) $(PROJECT) ./bin/hako agent once

# test runs everything that is quick, and installs what it needs where it can. What
# is missing on this machine is named at the end. HAKO_REQUIRE_TOOLS=1 makes a
# missing tool a failure.
test: tools tiny format
	go vet ./...
	go test -short -json -timeout 20m ./... | $(REPORT)

# test-all runs what takes long, with everything required, and does not repeat what
# test has run.
test-all: tools tiny check
	HAKO_REQUIRE_TOOLS=1 go test -json -timeout 20m $$(go run ./scripts/longtests) | $(REPORT)
	CGO_ENABLED=1 go test -race -short -json -timeout 20m ./... | $(REPORT)
	cd internal/fakes/clients && go vet ./... && go test -timeout 20m ./...
	cd bench/scale && go vet ./... && go test -timeout 20m ./...
	$(MAKE) fuzz
	$(MAKE) demo >/dev/null

# test-short installs nothing.
test-short:
	go test -short -json ./... | $(REPORT)

REPORT = go run ./scripts/testreport

# attacks is a part of test; here it runs alone and shows its numbers. It fails
# where they are below what the test aims at. Its second part sends all hostile
# scripts through every door, and wants a quiet machine: it measures times.
attacks: tools
	@table=$$(mktemp) && trap 'rm -f "$$table"' EXIT && status=0 && \
	{ HAKO_REQUIRE_TOOLS=1 HAKO_ATTACK_TABLE="$$table" go test -count=1 -timeout 20m -run '^TestAttacks$$' ./host || status=$$?; } && \
	cat "$$table" && \
	{ HAKO_ATTACK_DOORS="$$table" go test -count=1 -timeout 60m -run '^TestDoors$$' ./cmd/hako || status=$$?; } && \
	cat "$$table" && exit $$status

format:
	@files=$$(gofmt -s -l .); test -z "$$files" || { echo "gofmt -s would change: $$files"; exit 1; }

check: format
	go vet ./...
	GOOS=darwin go vet ./cmd/...
	GOOS=windows go vet ./cmd/...
	go tool staticcheck ./...

FUZZTIME ?= 3s

fuzz:
	./scripts/fuzz.sh $(FUZZTIME)

bench: bench-tools
	go run ./bench

bench-containers: images
	go run ./bench/containers

bench-scale:
	cd bench/scale && go run .

# images needs Docker. Where there is none and none can be installed, it says so
# and the tests that need containers are skipped aloud, unless they must not be.
images: build
	./scripts/docker.sh
	@if docker info >/dev/null 2>&1; then ./scripts/bases.sh && ./bin/hako env build --no-config; fi

# tiny is the image of tests that want a shell and little else.
tiny: tools images
	@if docker info >/dev/null 2>&1; then ./scripts/tiny.sh; fi

tools:
	./scripts/tools.sh test
	./scripts/mcptools.sh

bench-tools:
	./scripts/tools.sh bench

clean:
	rm -rf bin dist bench/data
