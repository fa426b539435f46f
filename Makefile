# The names of the loop's commands. `make help` lists them.

# One build folder for every checkout, outside of it: the dependencies are compiled once per lock file.
CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/headwater
export CARGO_TARGET_DIR ?= $(CACHE)/target
PYTHON ?= python3
VENV ?= $(CACHE)/venv
VENV_BIN := $(VENV)/bin
# The environment in which the built wheel is tried: nothing of the project but that wheel.
TRIAL ?= $(CACHE)/trial
SCHEMATHESIS ?= $(CACHE)/schemathesis
# Sail and a client of Spark, which are small; and Spark itself with other engines.
SAIL ?= $(CACHE)/sail
SPARK ?= $(CACHE)/spark
DEMO ?= $(CACHE)/demo
BENCH ?= $(CACHE)/bench
MODELS ?= $(CACHE)/models
# Nodes and tools of npm, and a peer.
NODES ?= $(CACHE)/nodes
# Generators of clients.
CLIENTS ?= $(CACHE)/clients
PRESET ?= s
# Sizes besides that of the preset at which the engine alone is measured.
GROWTH ?= s
SBOM ?= $(CACHE)/headwater.cdx.json
BIN := $(CARGO_TARGET_DIR)/debug/headwater
WHEELS := $(CARGO_TARGET_DIR)/wheels

.PHONY: help demo serve build environments test test-rust test-python test-notebooks notebooks screenshots test-schemathesis test-sail test-spark test-docs test-pictures test-explore test-nodes test-clients test-same-build test-full cluster-figures check run-check fmt docs methods wheel bench bench-wheel load models deny sbom clean-demo

help: ## what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-18s %s\n", $$1, $$2}'

demo: ## build, load the demo economy, serve it, print what to try
	@HEADWATER_BIN="$(BIN)" HEADWATER_DEMO="$(DEMO)" sh scripts/demo.sh

serve: ## serve the store of STORE=DIR
	cargo build --workspace --bin headwater
	"$(BIN)" serve --store "$(STORE)"

build: ## everything that the tests run: test binaries, program, wheel
	cargo test --workspace --lib --tests --no-run
	@$(MAKE) --no-print-directory wheel

# Installed while the compiler works: what takes long there is the network.
environments: $(TRIAL)/ready $(SCHEMATHESIS)/ready $(SAIL)/ready

test: ## every test that needs no service, the notebooks, the description; prints what it ran and what it left out
	@sh scripts/test.sh "$(MAKE) --no-print-directory" rust python notebooks schemathesis sail

test-rust:
	@HEADWATER_BENCH_PYTHON="$(or $(HEADWATER_BENCH_PYTHON),$(wildcard $(BENCH)/venv/bin/python))" sh scripts/test-rust.sh

# BUILT is set by `make test`, which has already built the wheel.
test-python: $(if $(BUILT),,wheel) $(TRIAL)/ready
	@sh scripts/test-python.sh "$(TRIAL)" "$(WHEELS)"

test-notebooks: $(if $(BUILT),,wheel) $(TRIAL)/ready scripts/requirements-notebooks.txt ## runs every notebook, whose outputs must be those in the file
	@sh scripts/test-notebooks.sh "$(TRIAL)" "$(WHEELS)" check

notebooks: $(if $(BUILT),,wheel) $(TRIAL)/ready scripts/requirements-notebooks.txt ## writes the outputs of every notebook into its file
	@sh scripts/test-notebooks.sh "$(TRIAL)" "$(WHEELS)" refresh

screenshots: $(TRIAL)/ready scripts/requirements-notebooks.txt ## writes the screenshots of the docs, in Chromium
	cargo build --workspace --bin headwater
	$(TRIAL)/bin/pip install --quiet --disable-pip-version-check nbconvert
	$(TRIAL)/bin/python scripts/screenshots.py "$(BIN)" docs/images

test-schemathesis: $(SCHEMATHESIS)/ready ## every described operation under Schemathesis: 20 examples each, 1,000 with HEADWATER_FULL=1
	cargo build --workspace --bin headwater
	@sh scripts/test-schemathesis.sh "$(SCHEMATHESIS)" "$(BIN)"

test-sail: $(if $(BUILT),,wheel) $(SAIL)/ready ## scores on Sail, which speaks the protocol of Spark
	@sh scripts/test-spark.sh sail "$(SAIL)" "$(WHEELS)"

test-spark: $(if $(BUILT),,wheel) $(SPARK)/ready ## scores on a cluster of Spark whose processes are killed, and the examples of other engines
	@HEADWATER_FULL=$${HEADWATER_FULL:-1} sh scripts/timed.sh spark sh scripts/test-spark.sh spark "$(SPARK)" "$(WHEELS)"

test-docs: ## /docs in a browser that reaches nobody else
	cargo build --workspace --bin headwater
	@sh scripts/test-docs.sh "$(BIN)" "$(PYTHON)"

test-pictures: ## pictures of traces in a browser that reaches nobody: errors, keyboard, hostile names, frames per second
	cargo build --workspace --bin headwater
	@sh scripts/test-pictures.sh "$(BIN)" "$(PYTHON)"

test-explore: $(if $(BUILT),,wheel) $(TRIAL)/ready ## the page /explore in a browser: a case by mouse and by keys, credits, hostile texts, screen readers, frames per second
	cargo build --workspace --bin headwater
	@sh scripts/test-explore.sh "$(BIN)" "$(TRIAL)" "$(WHEELS)"

test-nodes: $(TRIAL)/ready ## loads from anvil and bcoin, which come from npm: against files, balances of the nodes, kills, outages
	cargo build --workspace --bin headwater
	@sh scripts/timed.sh nodes sh scripts/test-nodes.sh "$(BIN)" "$(TRIAL)" "$(NODES)"

test-clients: $(CLIENTS)/ready ## clients that openapi-typescript, the OpenAPI generator, openapi-python-client and oapi-codegen make, as docs/write-a-client.md says
	cargo build --workspace --bin headwater
	@sh scripts/timed.sh clients sh scripts/test-clients.sh "$(BIN)" "$(CLIENTS)"

test-same-build: ## two builds in two folders are equal byte for byte: our crates, everything in release with HEADWATER_FULL=1
	@sh scripts/test-same-build.sh

test-full: ## the long runs too (HEADWATER_FULL=1), clusters, the pages, the pictures, nodes, generated clients, the dependencies, two builds
	HEADWATER_FULL=$${HEADWATER_FULL:-1} $(MAKE) test test-spark test-docs test-pictures test-explore test-nodes test-clients deny test-same-build

check: ## formatting, lints, types
	@sh scripts/timed.sh check "$(MAKE)" --no-print-directory run-check

run-check: $(VENV)/ready
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- --deny warnings
	$(VENV_BIN)/ruff format --check python tests/python
	$(VENV_BIN)/ruff check python tests/python
	$(VENV_BIN)/mypy
	$(VENV_BIN)/basedpyright --pythonpath $(VENV_BIN)/python
	@if command -v cargo-deny >/dev/null; then cargo deny check bans licenses sources; \
	else echo "left out: licences and sources of the dependencies, because cargo-deny is not installed: make deny"; fi

fmt: $(VENV)/ready ## format everything
	cargo fmt --all
	$(VENV_BIN)/ruff format python tests/python

docs: ## the reference of the Rust crates
	RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --no-deps

methods: wheel ## write the Python methods and records from the descriptions of the engine
	$(VENV_BIN)/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$(WHEELS)"/headwater-*.whl
	$(VENV_BIN)/python python/methods/generate.py

wheel: $(VENV)/ready ## the Python wheel, with the profile that the tests use
	@mkdir -p "$(WHEELS)" && rm -f "$(WHEELS)"/headwater-*.whl
	$(VENV_BIN)/maturin build --profile dev --out "$(WHEELS)" --interpreter $(PYTHON)

bench: $(BENCH)/ready $(if $(filter s,$(PRESET)),,bench-wheel) ## the benchmark: PRESET=s compares answers, m and l measure and write BENCHMARKS.md
	cargo build --release -p headwater-bench
	@BENCH_BIN="$(CARGO_TARGET_DIR)/release/headwater-bench" BENCH_FOLDER="$(BENCH)" \
		BENCH_PYTHON="$(BENCH)/venv/bin/python" PRESET="$(PRESET)" GROWTH="$(GROWTH)" sh scripts/bench.sh

# The faces are measured as people get them: the wheel of the release profile.
bench-wheel: $(VENV)/ready $(BENCH)/ready
	@rm -f "$(BENCH)"/wheels/headwater-*.whl
	$(VENV_BIN)/maturin build --release --out "$(BENCH)/wheels" --interpreter $(PYTHON)
	"$(BENCH)/venv/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$(BENCH)"/wheels/headwater-*.whl

cluster-figures: $(VENV)/ready $(SPARK)/ready $(SAIL)/ready ## scores in shards, on Spark and on Sail in one run: writes docs/cluster-figures.md
	@rm -f "$(BENCH)"/wheels/headwater-*.whl
	$(VENV_BIN)/maturin build --release --out "$(BENCH)/wheels" --interpreter $(PYTHON)
	for tools in "$(SPARK)" "$(SAIL)"; do \
		"$$tools/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$(BENCH)"/wheels/headwater-*.whl; done
	"$(SPARK)/bin/python" scripts/clusters/figures.py --bin "$(SPARK)/bin/headwater" --spark "$(SPARK)/bin/python" --sail "$(SAIL)/bin/python"

load: ## calls per second beside a bare handler, on the store of STORE=DIR; its state lies in TMPDIR
	cargo run --release -p headwater-server --example load -- "$(STORE)"

models: ## train the classifiers that are part of the program, and judge them in EVALUATION.md: needs HEADWATER_CORPUS
	@[ -d "$(HEADWATER_CORPUS)/classifier" ] || { echo "make models: HEADWATER_CORPUS names no folder of real chain data" >&2; exit 1; }
	@$(MAKE) --no-print-directory wheel "$(MODELS)/ready"
	"$(MODELS)/venv/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$(WHEELS)"/headwater-*.whl
	HEADWATER_CORPUS="$(HEADWATER_CORPUS)" "$(MODELS)/venv/bin/python" scripts/models/build.py "$(MODELS)/stores"

deny: ## licences, banned crates, sources and known weaknesses of the dependencies
	@command -v cargo-deny >/dev/null || cargo install cargo-deny --locked
	cargo deny check bans licenses sources
	@sh scripts/test-advisories.sh

sbom: ## every crate of Cargo.lock as CycloneDX, into SBOM=FILE
	$(PYTHON) scripts/sbom.py > "$(SBOM)"
	@echo "$(SBOM): $$(grep -c '"bom-ref": "pkg:' "$(SBOM)") crates"

clean-demo: ## forget the demo store
	rm -rf "$(DEMO)" "$(DEMO).state"

# Versions are pinned so that a new release of a linter does not turn a green tree red.
$(VENV)/ready: scripts/requirements-dev.txt
	$(PYTHON) -m venv "$(VENV)"
	$(VENV_BIN)/pip install --quiet --disable-pip-version-check --requirement scripts/requirements-dev.txt
	@touch $@

$(TRIAL)/ready: scripts/requirements-test.txt
	$(PYTHON) -m venv "$(TRIAL)"
	$(TRIAL)/bin/pip install --quiet --disable-pip-version-check --requirement scripts/requirements-test.txt
	@touch $@

$(SCHEMATHESIS)/ready: scripts/requirements-schemathesis.txt
	$(PYTHON) -m venv "$(SCHEMATHESIS)"
	$(SCHEMATHESIS)/bin/pip install --quiet --disable-pip-version-check --requirement scripts/requirements-schemathesis.txt
	@touch $@

$(SAIL)/ready: scripts/requirements-sail.txt
	$(PYTHON) -m venv "$(SAIL)"
	$(SAIL)/bin/pip install --quiet --disable-pip-version-check --requirement scripts/requirements-sail.txt
	@touch $@

$(SPARK)/ready: scripts/requirements-spark.txt
	$(PYTHON) -m venv "$(SPARK)"
	$(SPARK)/bin/pip install --quiet --disable-pip-version-check --requirement scripts/requirements-spark.txt
	@touch $@

$(CLIENTS)/ready: scripts/requirements-clients.txt
	$(PYTHON) -m venv "$(CLIENTS)"
	$(CLIENTS)/bin/pip install --quiet --disable-pip-version-check --requirement scripts/requirements-clients.txt
	@touch $@

$(BENCH)/ready: rust/bench/peers/requirements.txt
	$(PYTHON) -m venv "$(BENCH)/venv"
	"$(BENCH)/venv/bin/pip" install --quiet --disable-pip-version-check --requirement rust/bench/peers/requirements.txt
	@touch $@

$(MODELS)/ready: scripts/requirements-models.txt
	$(PYTHON) -m venv "$(MODELS)/venv"
	"$(MODELS)/venv/bin/pip" install --quiet --disable-pip-version-check --requirement scripts/requirements-models.txt
	@touch $@
