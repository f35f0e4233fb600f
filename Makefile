# `make` alone says what there is. Everything is built under build/, one folder per preset.
SHELL := /bin/bash
JOBS ?= $(shell nproc)
CTEST_FLAGS ?= --output-on-failure --parallel $(JOBS)
# Property tests draw the same cases every time; RC_PARAMS="seed=7 max_success=1000" draws others.
export RC_PARAMS ?= seed=1
# ThreadSanitizer needs a fixed memory layout on kernels that randomise it strongly.
FIXED_LAYOUT := $(shell setarch -R true 2>/dev/null && echo setarch -R)
SOURCES = git ls-files -co --exclude-standard -- '*.h' '*.cpp' '*.cu' '*.cuh'

.PHONY: help setup setup-tests build demo test test-million asan tsan check check-order check-format check-tidy format bench clean

help:
	@echo 'make build    the vdnn program and library, build/release/vdnn'
	@echo 'make demo     build, then a demonstration'
	@echo 'make test     every test'
	@echo 'make test-million   verifies a million random plans'
	@echo 'make asan     every test under AddressSanitizer and UndefinedBehaviorSanitizer'
	@echo 'make tsan     the tests with threads under ThreadSanitizer'
	@echo 'make check    include order, format and clang-tidy (CHANGED=1: clang-tidy on changed files only)'
	@echo 'make format   formats the sources in place'
	@echo 'make bench    builds and runs the benchmarks'
	@echo 'make clean    removes build/'

setup:
	@scripts/setup

setup-tests:
	@scripts/setup --tests

build: setup
	cmake --preset release
	cmake --build --preset release --parallel $(JOBS)

demo: build
	scripts/demo

test: setup-tests
	cmake --preset dev
	cmake --build --preset dev --parallel $(JOBS)
	ctest --preset dev $(CTEST_FLAGS)

test-million: setup-tests
	cmake --preset dev
	cmake --build --preset dev --parallel $(JOBS) --target plan_random_plans_test
	VDNN_RANDOM_PLANS=1000000 build/dev/tests/plan_random_plans_test

asan: setup-tests
	cmake --preset asan
	cmake --build --preset asan --parallel $(JOBS)
	ctest --preset asan $(CTEST_FLAGS)

tsan: setup-tests
	cmake --preset tsan
	cmake --build --preset tsan --parallel $(JOBS) --target thread_tests
	$(FIXED_LAYOUT) ctest --preset tsan $(CTEST_FLAGS)

check: check-order check-format check-tidy

check-order:
	python3 scripts/include_order.py

check-format:
	@scripts/setup --check-tools
	$(SOURCES) | xargs clang-format --dry-run --Werror

check-tidy:
	@scripts/setup --check-tools
	cmake --preset dev
	JOBS=$(JOBS) scripts/tidy $(if $(CHANGED),--changed)

format:
	@scripts/setup --check-tools
	$(SOURCES) | xargs clang-format -i

bench: setup
	cmake --preset bench
	cmake --build --preset bench --parallel $(JOBS)
	set -e; for program in build/bench/bench/*_bench; do "$$program"; done

clean:
	rm -rf build
