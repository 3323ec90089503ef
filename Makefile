# The one entry to building, testing and changing kubexx. `make` alone lists the targets.

JOBS ?= $(shell nproc)
BUILD ?= $(CURDIR)/build
PREFIX ?= /usr/local
# `make build CXX=clang++-14` and `make build PRESET=clang` are the same.
PRESET ?= $(if $(findstring clang,$(CXX)),clang,dev)
# Seconds per fuzz target: `make fuzz FUZZ_SECONDS=3600`.
FUZZ_SECONDS ?= 600
# A pattern: `make bench BENCH=codec`.
BENCH ?= .
# Of `make bench-peers`. KEEP: a folder for the cluster's data, which the next run takes up again. WORK: informer, reconcile or webhook alone.
PODS ?= 20000
UPDATES ?= 5000
ROUNDS ?= 3
COUNT ?= 2000
# BASELINE: a release build of an earlier commit, to compare with.
KEEP ?=
WORK ?=
BASELINE ?=
# Of `make demo` and `make seeds`: embedded or real.
CLUSTER ?= embedded

# make sets CXX by itself; only a compiler that the user named is passed on.
ifeq ($(origin CXX),default)
unexport CXX
endif
ifeq ($(origin CC),default)
unexport CC
endif

CTEST = $(CURDIR)/scripts/run-tests -j $(JOBS)
FLAKY = $(BUILD)/flaky.txt
CTEST_TWICE = $(CURDIR)/scripts/run-tests --retry-once $(FLAKY) -j $(JOBS)
configure = cmake --preset $(1) -B $(BUILD)/$(1) -Wno-dev --log-level=NOTICE
build = cmake --build $(BUILD)/$(1) -j $(JOBS)

.DEFAULT_GOAL := help
.PHONY: help deps build control-plane newest-control-plane test test-slow test-full demo seeds docs pictures bench bench-peers bench-auto-expose bench-growth bench-ports bench-generate lint format generate-api fuzz install clean

help:  ## list the targets
	@echo "kubexx: Kubernetes for C++20. Targets:"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

deps:  ## install the Debian packages that are missing (does nothing when all are there)
	@scripts/install-deps

build: deps  ## build the library, the programs and the tests (PRESET=dev|release|asan|tsan|clang)
	@$(call configure,$(PRESET))
	@$(call build,$(PRESET))

control-plane: deps  ## build real Kubernetes control planes, newest and oldest, and helm, for the tests (needs Go; cached outside of the checkout)
	@scripts/build-control-plane
	@scripts/build-helm

# Tests that want a real server are skipped, with the reason, where it cannot be had.
newest-control-plane: deps
	@if command -v go > /dev/null; then scripts/build-control-plane --lean newest || echo "No real control plane: its tests are skipped."; \
	else echo "No Go toolchain, so no real control plane: its tests are skipped."; fi

test: deps newest-control-plane  ## what to run before a change is sent: all tests but the slow ones, under ASan and UBSan, and the quick checks
	@scripts/install-deps doxygen
	@$(call configure,asan)
	@$(call build,asan)
	@cd $(BUILD)/asan && rm -f tests/contract/api/summary-*.txt; code=0; $(CTEST) -LE 'slow|full' || code=$$?; \
	cat tests/contract/api/summary-*.txt 2> /dev/null; exit $$code

# A test that fails here is run once more; if it passes then, it is listed as FLAKY at the end, and the run goes on. Chromium opens the
# debug page of a manager.
test-slow: deps  ## the rest of CI: tests that take minutes, and all quick ones with threads under ThreadSanitizer with clang
	@scripts/install-deps chromium
	@$(call configure,asan)
	@$(call build,asan)
	@if command -v go > /dev/null; then scripts/build-control-plane newest || echo "No real control plane: its tests are skipped."; fi
	@rm -f $(FLAKY)
	@cd $(BUILD)/asan && $(CTEST_TWICE) -L slow || { cat $(FLAKY) 2> /dev/null; exit 1; }
	@$(call configure,tsan) -DKUBEXX_TSAN_ALL=OFF
	@$(call build,tsan)
	@cd $(BUILD)/tsan && $(CTEST_TWICE) -LE 'lint|slow|full|install|e2e' && KUBEXX_SOAK_SECONDS=30 $(CTEST_TWICE) -L soak \
	  || { cat $(FLAKY) 2> /dev/null; exit 1; }
	@cat $(FLAKY) 2> /dev/null || true

# More of what `make test` and `make test-slow` cover: nothing is tested here alone.
test-full: deps  ## breadth, before a release (hours): ten thousand schedules, long soaks, the oldest server, all of TSan, each fuzz target for FUZZ_SECONDS
	@$(call configure,asan)
	@$(call build,asan)
	@if command -v go > /dev/null; then scripts/build-control-plane || echo "No real control plane: its tests are skipped."; fi
	@cd $(BUILD)/asan && rm -f tests/contract/api/summary-*.txt; code=0; $(CTEST) -L full || code=$$?; \
	cat tests/contract/api/summary-*.txt 2> /dev/null; exit $$code
	@$(call configure,tsan) -DKUBEXX_TSAN_ALL=ON
	@$(call build,tsan)
	@cd $(BUILD)/tsan && $(CTEST) -LE 'lint|slow|full|install|e2e' && $(CTEST) -L soak
	@$(MAKE) fuzz

demo: deps  ## auto-expose at work, in a cluster of its own, step by step (CLUSTER=real: on a real control plane; needs Go)
	@$(if $(filter real,$(CLUSTER)),scripts/build-control-plane newest)
	@$(call configure,release)
	@$(call build,release) --target kubexx auto-expose
	@scripts/demo $(BUILD)/release --cluster $(CLUSTER)

seeds: deps  ## what five texts about client-go, controllers and kubebuilder do with Go, done with the programs here, step by step (CLUSTER=real)
	@$(if $(filter real,$(CLUSTER)),scripts/build-control-plane newest)
	@$(call configure,$(PRESET))
	@$(call build,$(PRESET)) --target seeds
	@scripts/seeds $(BUILD)/$(PRESET) --cluster $(CLUSTER)

docs: deps  ## the reference of the public headers, to browse and search without a server (build/docs/html)
	@scripts/install-deps doxygen
	@scripts/check-reference --out $(BUILD)/docs

pictures: deps newest-control-plane  ## the pictures of README and ARCHITECTURE: a terminal from kubexx init to kubectl get, the figures, the rooms (docs/pictures/)
	@$(call configure,release) -DKUBEXX_BENCH=OFF
	@$(call build,release)
	@scripts/picture-terminal $(BUILD)/release
	@scripts/plot-figures
	@scripts/draw-rooms

bench: deps  ## build and run the benchmarks (BENCH=<part of a name>)
	@$(call configure,release)
	@$(call build,release)
	@scripts/run-benchmarks $(BUILD)/release "$(BENCH)"

bench-peers: deps newest-control-plane  ## informers, controllers and webhooks beside client-go's and kube-rs' on a real control plane (PODS=20000 UPDATES=5000 ROUNDS=3 KEEP=<folder> WORK=reconcile BASELINE=<build>)
	@$(call configure,release)
	@$(call build,release) --target kubexx peers_informer peers_load peers_reconcile peers_widgets bench_webhook
	@scripts/build-peers > /dev/null || true
	@python3 -B bench/peers/run.py --build $(BUILD)/release --out $(BUILD)/bench --pods $(PODS) --updates $(UPDATES) --rounds $(ROUNDS) \
	  $(if $(KEEP),--keep $(KEEP)) $(if $(WORK),--work $(WORK)) $(if $(BASELINE),--baseline $(BASELINE))

bench-auto-expose: deps newest-control-plane  ## auto-expose beside the same job in controller-runtime, on a real control plane (COUNT=2000 ROUNDS=3)
	@$(call configure,release)
	@$(call build,release) --target kubexx auto-expose
	@scripts/build-peers controller-runtime > /dev/null || true
	@python3 -B bench/peers/auto_expose.py --build $(BUILD)/release --out $(BUILD)/bench --count $(COUNT) --rounds $(ROUNDS)

bench-ports: deps  ## attacks on the ports of auto-expose: its memory, and how long a scrape takes meanwhile (ATTACK_SECONDS=10)
	@$(call configure,release)
	@$(call build,release) --target kubexx auto-expose bench_ports_attacker
	@python3 -B bench/ports/run.py --build $(BUILD)/release --seconds $(or $(ATTACK_SECONDS),10)

bench-growth: deps  ## what an informer costs with 5,000 to 150,000 pods, on the embedded server
	@$(call configure,release)
	@$(call build,release) --target kubexx peers_informer peers_load
	@python3 -B bench/peers/growth.py --build $(BUILD)/release --out $(BUILD)/bench

bench-generate: deps  ## kubexx generate beside controller-gen on the same kinds, and the compilation of its tables
	@$(call configure,release)
	@$(call build,release) --target kubexx
	@python3 -B bench/generate/run.py --build $(BUILD)/release

lint: deps  ## the checks of the source tree: layers, signatures, headers, lengths of files and functions, ASCII, words, clang-format, clang-tidy
	@scripts/install-deps doxygen
	@$(call configure,clang)
	@scripts/check-layers
	@scripts/check-signatures
	@scripts/check-length
	@scripts/check-functions
	@scripts/check-ascii
	@scripts/check-words
	@scripts/check-guarantees
	@scripts/check-headers --all --out $(BUILD)/headers
	@scripts/check-header-size
	@scripts/check-format
	@scripts/check-tidy $(BUILD)/clang

format: deps  ## format the sources
	@scripts/check-format --fix

generate-api: deps  ## regenerate include/kube/api and src/api from upstream's schemas (needs Go)
	@python3 -B codegen/generate_api.py

fuzz: deps  ## run each fuzz target for FUZZ_SECONDS (600)
	@$(call configure,fuzz)
	@$(call build,fuzz) --target fuzzers
	@cd $(BUILD)/fuzz && KUBEXX_FUZZ_SECONDS=$(FUZZ_SECONDS) $(CTEST) -L fuzz

install: deps  ## install to $(DESTDIR)$(PREFIX) (PREFIX=/usr/local)
	@$(call configure,release) -DCMAKE_INSTALL_PREFIX=$(PREFIX) -DKUBEXX_BENCH=OFF
	@$(call build,release)
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD)/release

clean:  ## remove what was built
	rm -rf $(BUILD)
