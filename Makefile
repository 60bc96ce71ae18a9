# What people and the CI call. CMake does the work; see README.md.
BUILD ?= build
CMAKE_FLAGS ?=
NINJA = ninja -C $(BUILD)
# Data outside the repository: public traces and measurements that some tests and tables read.
export LUMOS_DATA ?= $(abspath ../shared)

.PHONY: build demo test test-browser test-cluster test-python dist accuracy bench bench-peers format check sanitize fuzz docs golden clean

build:
	@scripts/install-deps build
	@cmake -S . -B $(BUILD) -G Ninja -DLUMOS_TESTS=OFF $(CMAKE_FLAGS) >/dev/null
	@$(NINJA) lumos

demo: build
	$(BUILD)/lumos synth --job demo --cluster dgx-h100 --out $(BUILD)/demo
	$(BUILD)/lumos replay $(BUILD)/demo
	$(BUILD)/lumos predict $(BUILD)/demo --job $(BUILD)/demo/job.toml --set pipeline_model_parallel_size=4

test:
	@scripts/install-deps test
	@cmake -S . -B $(BUILD) -G Ninja -DLUMOS_TESTS=ON $(CMAKE_FLAGS) >/dev/null
	@$(NINJA)
	@scripts/run-tests $(BUILD)

# The HTML report in Chromium; skipped with a word where there is none. npm comes before the build, which bundles the
# report's charts with it.
test-browser:
	@scripts/install-deps browser || true
	@$(MAKE) build
	@scripts/test-browser $(BUILD)/lumos

# The recipes of docs/cluster.md on a Slurm of one node, started for it; skipped with a word where there is none.
test-cluster: build
	@scripts/install-deps cluster || true
	@scripts/test-cluster $(BUILD)/lumos

# The Python package in a new virtual environment; LUMOS_TORCH=0 leaves PyTorch out.
test-python:
	@scripts/test-python build-python/build

# A relocatable archive: dist/lumos-VERSION-linux-ARCH.tar.gz.
dist:
	@scripts/install-deps build
	@scripts/make-dist

# Replays every trace under $LUMOS_DATA/traces and rewrites docs/accuracy.md.
accuracy: build
	@scripts/accuracy $(BUILD)/lumos
	@scripts/accuracy-models $(BUILD)/lumos
	@scripts/accuracy-program $(BUILD)/lumos
	@scripts/accuracy-search $(BUILD)/lumos
	@scripts/score-dependencies $(BUILD)/lumos
	@scripts/accuracy-link --lumos $(BUILD)/lumos
	@scripts/accuracy-what-ifs $(BUILD)/lumos

bench:
	@scripts/install-deps test
	@cmake -S . -B build-bench -G Ninja -DLUMOS_TESTS=OFF -DLUMOS_BENCH=ON $(CMAKE_FLAGS) >/dev/null
	@ninja -C build-bench
	@scripts/run-bench build-bench

# Beside Holistic Trace Analysis on the same traces: rewrites docs/performance-peers.md.
bench-peers: build
	@scripts/bench-peers $(BUILD)/lumos

format:
	@scripts/check-format --fix

check:
	@scripts/install-deps check
	@scripts/check-format
	@scripts/check-layout
	@scripts/draw-architecture --check

# The unit tests under AddressSanitizer and UndefinedBehaviorSanitizer.
sanitize:
	@scripts/install-deps fuzz
	@scripts/build-sanitized
	@scripts/run-tests build-sanitize

# Every fuzz target for FUZZ_SECONDS, with sanitizers; needs clang.
FUZZ_SECONDS ?= 60
fuzz:
	@scripts/install-deps fuzz
	@scripts/run-fuzz $(FUZZ_SECONDS)

# What the program writes about itself: docs/commands.md, docs/schemas, the output in README.md.
docs: build
	@$(BUILD)/lumos reference >docs/commands.md
	@mkdir -p docs/schemas
	@$(BUILD)/lumos schemas docs/schemas
	@scripts/update-readme --lumos $(BUILD)/lumos

# Rewrites the expected text of the golden sessions; read the difference before committing it.
golden: build
	@scripts/golden --update --lumos $(BUILD)/lumos tests/golden/*.session

clean:
	rm -rf build build-bench build-python build-dist build-sanitize dist
