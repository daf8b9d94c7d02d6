# Sets up a local environment in .venv and does what is asked in it; `make help` lists the targets.
# Nothing is installed outside the repository. Needs Rust (1.88 or later), Python (3.11 or later), a
# C compiler.

VENV := .venv
BIN := $(VENV)/bin
CARGO ?= cargo
# pip without a word, unless something is wrong.
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip --quiet

# The first interpreter that runs and is new enough; PYTHON=... on the command line wins.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 \
	&& echo "$$p" && break; done)

# The crates that have a public API: documented on the site, packaged by `make dist`.
PUBLIC := keys core policies pool nbd trace synth profile ssd replay engine mrc conform

RUST_SOURCES := $(shell find crates -name '*.rs' -o -name 'Cargo.toml') Cargo.toml Cargo.lock
PYTHON_DIRS := python examples tests/python benches fuzz docs/site .ci

.DEFAULT_GOAL := help
.PHONY: help setup pcache demo test test-all test-rust test-python lint lint-rust lint-python lint-supply bench bench-long dataset coverage fuzz fuzz-sanitized fuzz-guided mutants sqlite-tests page docs man dist samples-release clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | awk -F '\t' '{ printf "  %-16s %s\n", $$1, $$2 }'

$(VENV)/.maturin: pyproject.toml
	@test -n "$(PYTHON)" || { echo "make: Python 3.11 or later with venv was not found (set PYTHON=...)" >&2; exit 1; }
	@$(CARGO) --version >/dev/null 2>&1 || { echo "make: cargo was not found: install Rust 1.88 or later" >&2; exit 1; }
	@echo "Setting up $(VENV), with the tools that build and test ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install --upgrade pip
	@$(PIP) install "maturin>=1.16,<2"
	@touch $@

# What the package needs and what tests it: from the network, while Rust compiles.
EXTRAS := report,tune,polars,pandas,sql,cluster,docs
$(VENV)/.tools: $(VENV)/.maturin
	@$(PIP) install --group dev $$($(BIN)/python -c 'import sys, tomllib; \
		project = tomllib.load(open("pyproject.toml", "rb"))["project"]; extras = project["optional-dependencies"]; \
		print(*{need.replace(" ", "") for extra in sys.argv[1].split(",") for need in extras[extra]}, *project["dependencies"])' $(EXTRAS))
	@touch $@

# The Rust half; an unchanged crate is not compiled again.
MATURIN := PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1 CARGO_TERM_COLOR=never \
	maturin develop --profile setup --features pyo3/extension-module
$(VENV)/.compiled: $(VENV)/.maturin $(RUST_SOURCES)
	@echo "Building Destage (the first time three to five minutes: the Rust half, optimised; then what has changed) ..."
	@. $(BIN)/activate && { $(MATURIN) --skip-install 2>&1; echo "status $$?"; } | awk -f .ci/progress.awk
	@touch $@

# The package itself, with all extras.
$(VENV)/.built: $(VENV)/.maturin $(RUST_SOURCES)
	@$(MAKE) -s --no-print-directory -j2 $(VENV)/.tools $(VENV)/.compiled
	@. $(BIN)/activate && { $(MATURIN) --extras $(EXTRAS) 2>&1; echo "status $$?"; } | awk -f .ci/progress.awk
	@# Where Python may not write bytecode, every start of the command would compile the package anew.
	@$(BIN)/python -m compileall -q python/destage
	@touch $@

setup: $(VENV)/.built ## build and install into .venv

# What SQLite loads. A wheel brings it; here it is built where it is asked for, since all policies are
# compiled once more for it.
PAGE_CACHE := python/destage/libdestage_pcache.$(if $(filter Darwin,$(shell uname -s)),dylib,so)
PAGE_CACHE_SOURCES := $(filter crates/destage-pcache/% crates/destage-policies/% crates/destage-core/% crates/destage-keys/%,$(RUST_SOURCES))
$(PAGE_CACHE): $(PAGE_CACHE_SOURCES) Cargo.lock
	@echo "Building SQLite's page cache (about a minute) ..."
	@$(CARGO) build --profile setup --locked --quiet -p destage-pcache
	@cp $${CARGO_TARGET_DIR:-target}/setup/$(@F) $@

pcache: setup $(PAGE_CACHE) ## build SQLite's page cache, which `destage pcache` names

demo: setup ## compare policies on a small real trace; writes destage-report.html
	@$(BIN)/destage demo

# Processes of pytest; cases of each Rust property: 16 in `test`, the property's own in `test-all`.
# So few are the same in every run (SEED=2: others); all cases are drawn anew, as at night.
PROCESSES ?= 2
SEED ?= 1
ifdef CASES
export PROPTEST_CASES := $(CASES)
export PROPTEST_RNG_SEED := $(SEED)
endif
test: export PROPTEST_CASES := $(or $(CASES),16)
test: export PROPTEST_RNG_SEED := $(SEED)
test: test-rust ## run the tests, each part once: at most ten minutes on two cores, once it is built
	@$(MAKE) test-python SELECT='-m "not slow"'

test-all: test-rust test-python ## run every test, with all cases, or CASES=16 as CI does

test-rust:
	$(CARGO) test --workspace --locked --features destage-pool/uring

test-python: setup pcache
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadscope --no-loadscope-reorder --durations=20 $(SELECT)

lint: lint-rust lint-python lint-supply ## formatting, clippy, rustdoc, ruff, mypy, stubs, licences

lint-rust:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked --features destage-pool/uring -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --locked --quiet $(PUBLIC:%=-p destage-%)

lint-python: setup
	$(BIN)/ruff format --check $(PYTHON_DIRS)
	$(BIN)/ruff check $(PYTHON_DIRS)
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest destage._destage --ignore-disjoint-bases

# What `deny.toml` allows: licences, versions, where crates come from.
lint-supply: $(VENV)/.tools
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny check; \
		else $(BIN)/python .ci/supply.py; fi

# Seconds for each target. PROFILE=dev checks more, is slower, and is there when the tests have run.
TIME ?= 10
PROFILE ?= release
fuzz: setup ## feed damaged inputs to everything that reads any, TIME=10 seconds for each target
	$(CARGO) run --profile $(PROFILE) --quiet --locked -p destage-fuzz -- --time $(TIME)
	$(BIN)/python fuzz/faces.py --time $(TIME)

# With a nightly toolchain: the same inputs, and every access to memory is looked at. The sanitizer
# wants its target named, a folder of its own for what it builds, and more patience.
NIGHTLY ?= $(shell rustc +nightly --print host-tuple 2>/dev/null)
fuzz-sanitized: ## the Rust targets under the address sanitizer; needs a nightly toolchain
	@test -n "$(NIGHTLY)" || { echo "make: no nightly toolchain: rustup toolchain install nightly" >&2; exit 1; }
	RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=target/sanitized $(CARGO) +nightly run --quiet \
		--locked --target $(NIGHTLY) -p destage-fuzz -- --time $(TIME) --patience 600

JOBS ?= 1
fuzz-guided: $(VENV)/.tools ## the same, guided by coverage, JOBS=1 at once; needs cargo-fuzz too
	$(BIN)/python fuzz/guided.py --time $(TIME) --jobs $(JOBS)

# One mutant of so many; each is built and tested by itself (.cargo/mutants.toml).
SHARD ?= 0/200
mutants: ## whether the Rust tests notice faults, SHARD=0/200 of them; needs cargo-mutants
	@$(CARGO) mutants --version >/dev/null 2>&1 \
		|| { echo "make: cargo-mutants was not found: cargo install cargo-mutants" >&2; exit 1; }
	PROPTEST_CASES=$(or $(CASES),16) $(CARGO) mutants --output target --shard $(SHARD) --sharding round-robin

# SQLITE is a source folder of SQLite 3.40, such as `apt-get source sqlite3` unpacks; not as root.
POLICY ?= s3-fifo
sqlite-tests: pcache ## SQLite's own test scripts under its page cache, SQLITE=source folder; needs Tcl
	@test -d "$(SQLITE)" || { echo "make: SQLITE=FOLDER: the source of SQLite was not found" >&2; exit 1; }
	@$(BIN)/python .ci/sqlite_tests.py "$(SQLITE)" --build target/sqlite --policy "$(POLICY)" \
		--library "$$($(BIN)/destage pcache)"

bench: setup ## measure, with ratios to the peers that are found (benches/README.md); RECORD=1 keeps it
	$(BIN)/python benches/compare.py $(if $(RECORD),--record)
	$(BIN)/python benches/sampled.py

# Real traces are looked for in $DESTAGE_TRACES. PARTS: some of untimed, closed, open.
DATASET ?= dataset
dataset: setup ## all policies over many traces, DATASET=folder PARTS="untimed closed open": five hours on two cores
	$(BIN)/python benches/dataset.py $(DATASET) $(PARTS:%=--part %)

bench-long: setup ## sampled curves beside exact ones, 10^8 accesses over 10 M pages
	$(BIN)/python benches/sampled.py --requests 100000000 --pages 10000000

dist: $(VENV)/.tools ## build wheel, sdist and crates into dist/, and try the wheel where there is no Rust
	@$(PIP) install --group dist || echo "make: no zig here: the wheel will ask for this machine's glibc" >&2
	@$(BIN)/python .ci/dist.py

samples-release: setup ## check our recordings and collect them for upload, FROM=folder DIR=folder
	@test -n "$(FROM)" -a -n "$(DIR)" || { echo "make: FROM=recordings DIR=upload: both are needed" >&2; exit 1; }
	@$(BIN)/python .ci/samples.py "$(FROM)" "$(DIR)"

coverage: setup ## count how often intervals of samples hold (docs/sampling.md); RECORD=1 keeps it
	$(BIN)/python benches/coverage.py $(if $(RECORD),--record)

man: setup ## write the manual pages into dist/man: man -M dist/man destage
	@$(BIN)/python .ci/man.py

# Beside Rust it takes the target wasm32-unknown-unknown and clang; it says which of them is missing.
page: setup ## build the page that runs Destage in a browser, docs/_build/page
	@CARGO="$(CARGO)" $(BIN)/python docs/site/browser_page.py

docs: setup ## build the site into docs/_build/html
	@$(BIN)/python docs/site/build.py

clean: ## remove what was built
	rm -rf $(VENV) target dist docs/_build destage-report.html
