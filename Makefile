# Every target does its own set-up; the second time that takes a second. `make help` lists them.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
export JOBS ?= $(shell nproc)

PYTHON := .venv/bin/python
RELEASE := build/release/tensorwright
SOURCES := git ls-files -co --exclude-standard --

# Folders whose tests run under the sanitizers (docs/sanitizers.md says why these).
ASAN_FOLDERS ?= base leir search llm store measure tvm lower space verify worker
TSAN_FOLDERS ?= base leir search llm store measure

.DEFAULT_GOAL := help
.PHONY: help setup setup-dev build release demo test check check-format check-includes check-shell \
        check-python check-tidy format sanitize asan tsan clean

help: ## show this list
	@grep -hE '^[a-z%-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z%-]+):.*## (.*)/  make \1\t\2/' | expand -t 24

setup:
	@scripts/setup.sh

setup-dev:
	@scripts/setup.sh dev

build: setup ## development build in build/dev
	@scripts/build.sh dev

release: setup ## release build: build/release/tensorwright
	@scripts/build.sh release tensorwright tensorwright-worker

demo: release ## tune a real operator on this machine
	$(RELEASE) tune deepseek-r1-moe --trials 32

test: build ## all tests
	@ctest --preset dev -j $(JOBS) $(CTEST_FLAGS)

check: check-format check-includes check-shell check-python $(if $(filter 0,$(TIDY)),,check-tidy) ## style and lint; TIDY=0 leaves clang-tidy out

check-format: setup-dev
	$(SOURCES) '*.cc' '*.h' | xargs .venv/bin/clang-format --dry-run -Werror

check-includes: setup
	$(PYTHON) scripts/check_includes.py

check-shell: setup
	$(SOURCES) '*.sh' .ci/run | xargs shellcheck

check-python: setup-dev
	.venv/bin/ruff check -q
	.venv/bin/ruff format -q --check

check-tidy: setup-dev
	@scripts/build.sh dev tw_workloads
	$(PYTHON) scripts/tidy.py build/dev

format: setup-dev ## rewrite all sources in the project's style
	$(SOURCES) '*.cc' '*.h' | xargs .venv/bin/clang-format -i
	.venv/bin/ruff check -q --fix
	.venv/bin/ruff format -q

sanitize: asan tsan ## unit tests under AddressSanitizer + UBSan, then ThreadSanitizer

asan: setup
	@scripts/sanitize.sh asan-ubsan $(ASAN_FOLDERS)

tsan: setup
	@scripts/sanitize.sh tsan $(TSAN_FOLDERS)

bench-%: ## run bench/NAME.py and judge its bars
	@[[ -f bench/$*.py ]] || { echo "no bench/$*.py; there are: $$(cd bench && ls *.py | grep -v bar.py | xargs)" >&2; exit 2; }
	@scripts/setup.sh bench
	@scripts/build.sh release tensorwright tensorwright-worker
	@$(PYTHON) bench/$*.py

clean: ## remove the builds (keeps .venv and runs/)
	rm -rf build
