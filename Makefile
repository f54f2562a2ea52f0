# The front door: each target does all it needs, from a bare Debian machine on. The work itself stands in scripts/ and
# in the CMake presets.

PREFIX ?= /usr/local
# For Vulkan without a GPU; see tests/hide_sve.cpp.
VULKAN = $(addprefix LD_PRELOAD=,$(wildcard $(CURDIR)/build/release/lib/libhide_sve.so)) \
  MESA_SHADER_CACHE_DIR=$(CURDIR)/build/release/mesa

SHELL := /bin/bash
SOURCES = $(shell find tenon tests examples apps bench python -name '*.h' -o -name '*.cpp' 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help setup demo build test test-drivers test-sanitizers test-all test-against-torch bench python packages docs reference install format lint clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: ## install the Debian packages the build needs, if any is missing
	@scripts/setup.sh

demo: setup ## build, train a small GPT on built-in stories for about a minute, and let it tell some
	@scripts/build.sh release tenon_cli
	@build/release/bin/tenon train demo

build: setup ## build library, tests and examples (build/release)
	@scripts/build.sh release

# Which test is part of which job: tests/matrix.cmake.
test: setup ## run the tests that need no driver, Python's among them
	@scripts/setup.sh python
	@scripts/build_python.sh build/release
	@scripts/run_tests.sh release:test

test-drivers: setup ## run the tests on OpenCL and Vulkan: PoCL, lavapipe and SwiftShader where there is no GPU
	@scripts/setup.sh test
	@scripts/run_tests.sh release:drivers

test-sanitizers: setup ## run what owns memory under the sanitizers, and the fuzz targets for a second each
	@scripts/run_tests.sh asan-core:sanitizers release:sanitizers

test-all: setup ## run all tests in release, debug and sanitizer builds, and those with threads under ThreadSanitizer
	@scripts/setup.sh test
	@scripts/setup.sh python
	@scripts/build_python.sh build/release
	@scripts/run_tests.sh release debug asan tsan:threads
	@scripts/check_same_bits.sh build/release/bin
	@TENON_ALL_CASES=1 build/release/bin/ops_test --gtest_brief=1 --gtest_filter='*/opencl*:*/simulated*'
	@build/release/bin/kernels_test --gtest_brief=1
	@TENON_PROGRAMS=3000 build/release/bin/exec_test --gtest_brief=1 --gtest_filter='Random*'
	@TENON_PROGRAMS=100000 build/release/bin/grad_test --gtest_brief=1 --gtest_filter='*DualNumbers'
	@TENON_STEPS=20000 build/release/bin/exec_test --gtest_brief=1 --gtest_filter='Growth.*NoOldWeights:Growth.*NoBatches:Growth.Detached*:Growth.*FewPlans'
	@scripts/fault_test.py --errors EIO,EMFILE,ESTALE || [ $$? -eq 77 ]
	@TENON_LARGE_FILES=1 build/release/bin/io_test --gtest_brief=1 --gtest_filter='*LargerThan4GiB'
	@TENON_STEPS=20000 PYTHONPATH=build/release/python python3 tests/python/test_loops.py
	@TENON_ALL_CASES=1 build/release/bin/render_test --gtest_brief=1 --gtest_filter='EveryKernel.*:Legalised.*'
	@! build/release/bin/device_is_there opencl || for dtype in f32 f16 bf16; do \
	  build/release/bin/golden_test --dir tests/golden --device opencl --dtype $$dtype || exit 1; \
	  build/release/bin/golden_test --dir tests/golden/volumes --device opencl --dtype $$dtype || exit 1; done
	@for driver in NONE= VK_ICD_FILENAMES=/usr/lib/chromium/vk_swiftshader_icd.json; do \
	  env $(VULKAN) $$driver build/release/bin/device_is_there vulkan || continue; \
	  env $(VULKAN) $$driver build/release/bin/ops_test --gtest_brief=1 --gtest_filter='*/vulkan*' || exit 1; \
	  for dtype in f32 f16 bf16; do for folder in golden golden/volumes; do \
	    env $(VULKAN) $$driver build/release/bin/golden_test --dir tests/$$folder --device vulkan --dtype $$dtype || exit 1; \
	    done; done; done
	@! build/release/bin/device_is_there opencl || TENON_DEVICE=opencl build/release/bin/models_test --gtest_brief=1
	@for build in release asan; do TENON_RANDOM_PROGRAMS=100000 build/$$build/bin/capture_test --gtest_brief=1 \
	  --gtest_filter='RandomCaptures.*' || exit 1; done
	@scripts/build_python.sh build/asan && scripts/test_python_memory.sh build/asan/python
	@scripts/setup.sh packages && scripts/packages.sh && scripts/check_packages.sh

test-against-torch: ## compare with an installed PyTorch: its operator samples, random programs; PYTHON=python-with-torch PROGRAMS=100000
	@scripts/build_python.sh build/release
	@PYTHONPATH=build/release/python $(or $(PYTHON),python3) scripts/against_torch/run.py $(ARGS)
	@PYTHONPATH=build/release/python $(or $(PYTHON),python3) scripts/fuzz_autograd.py --programs $(or $(PROGRAMS),100000)

bench: setup ## measure all of bench/, beside PyTorch where it is installed, and keep the result: SIZE=small|medium|large DEVICE=cpu PYTHON=python-with-torch NOTE=text
	@scripts/setup.sh python
	@scripts/build.sh release tenon_cli bench/all
	@scripts/build_python.sh build/release
	@bench/run --size $(or $(SIZE),small) --device $(or $(DEVICE),cpu) --python $(or $(PYTHON),python3) --note '$(NOTE)' $(ARGS)

python: ## build `import tenon` for /usr/bin/python3 (build/release/python) and run its tests
	@scripts/setup.sh python
	@scripts/build_python.sh build/release
	@scripts/test_python.sh build/release/python

packages: setup ## make Debian packages, a wheel, the sources and their checksums (build/packages)
	@scripts/setup.sh python
	@scripts/setup.sh packages
	@scripts/packages.sh $(ARGS)

docs: ## build the documentation as a site that needs no network (build/docs/html/index.html)
	@scripts/setup.sh docs
	@scripts/build_docs.sh

reference: ## write docs/reference anew from the comments of the public headers
	@scripts/setup.sh docs
	@scripts/make_reference.py

install: build ## install into PREFIX (default /usr/local)
	@cmake --install build/release --prefix '$(PREFIX)'

format: ## format all C++ with clang-format
	@command -v clang-format >/dev/null || { echo 'make format: clang-format is missing: apt-get install clang-format' >&2; exit 1; }
	@clang-format -i $(SOURCES)

lint: setup ## check tenon/ with clang-tidy
	@command -v clang-tidy >/dev/null || { echo 'make lint: clang-tidy is missing: apt-get install clang-tidy' >&2; exit 1; }
	@scripts/build.sh release tenon
	@find tenon -name '*.cpp' -print0 | xargs -0 -r -n 1 -P "$$(nproc)" clang-tidy --quiet -p build/release \
	  --extra-arg=-Wno-unknown-warning-option 2> >(grep -v 'warnings\?\( and .*\)\? generated' >&2)

clean: ## remove everything that was built
	@rm -rf build
