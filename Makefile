# A thin front to CMake. Everything that continuous integration runs is a target to run at home.
BUILD        ?= build
PREFIX       ?= /usr/local
JOBS         ?= $(shell nproc)
FUZZ_SECONDS ?= 60
OUT          ?= out
PAGE_IDS     ?= pennies rps theory
campaigns     = crash oom io-faults tamper ranks hostile soak

configure = cmake --log-level=NOTICE -S . -B
compile   = cmake --build
ctest     = ctest --output-on-failure --no-tests=error --no-label-summary -j$(JOBS) --test-dir
campaign  = HVI=$(CURDIR)/$(BUILD)/hvi HVI_ASAN=$(CURDIR)/build-asan/hvi HVI_SOURCE_DIR=$(CURDIR) HVI_BUILD_DIR=$(CURDIR)/$(BUILD) bash
say       = @printf '\n== %s\n'

.NOTPARALLEL:
MAKEFLAGS += --no-print-directory
.PHONY: all test suite api abi-check dist try-dist asan tsan valgrind clang fuzz $(campaigns) isa coverage bench bench-peers reproduce page-check gpu-check deb bundle wheel interop install format \
        check-format check-includes packages clean help

all: ## build the libraries, the program and the tests in build/
	$(configure) $(BUILD)
	$(compile) $(BUILD) -j$(JOBS)

test: packages check-format check-includes suite asan ## formatting, includes, the suite plain and under ASan+UBSan

suite: ## the suite, built with warnings as errors
	$(say) 'the suite, warnings as errors'
	$(configure) $(BUILD) -DHVI_WERROR=ON
	$(compile) $(BUILD) -j$(JOBS)
	$(ctest) $(BUILD)

api: ## the reference of the C library, from its headers (build/api/html/index.html)
	$(say) 'the reference of the library'
	scripts/install-dependencies.sh doxygen
	scripts/api.py $(BUILD)/api

abi-check: ## what libhvi.so offers against tests/golden/abi.txt; `scripts/abi.py --write` records it
	$(say) 'the binary interface'
	$(configure) $(BUILD)
	$(compile) $(BUILD) -j$(JOBS) --target hvi_shared
	scripts/abi.py --library $(BUILD)/src/libhvi.so

asan: ## the suite under AddressSanitizer and UBSan (build-asan/)
	$(say) 'the suite under AddressSanitizer and UBSan'
	$(configure) build-asan -DCMAKE_BUILD_TYPE=Debug -DHVI_SANITIZE=address,undefined
	$(compile) build-asan -j$(JOBS)
	$(ctest) build-asan

tsan: ## the tests that use threads, under ThreadSanitizer (build-tsan/)
	$(say) 'threads under ThreadSanitizer'
	$(configure) build-tsan -DCMAKE_BUILD_TYPE=Debug -DHVI_SANITIZE=thread
	$(compile) build-tsan -j$(JOBS)
	scripts/without-aslr.sh $(ctest) build-tsan -L threads

valgrind: ## the unit tests under valgrind (build-valgrind/)
	$(say) 'the unit tests under valgrind'
	scripts/install-dependencies.sh valgrind
	$(configure) build-valgrind -DCMAKE_BUILD_TYPE=Debug \
	  '-DHVI_TEST_LAUNCHER=valgrind;--quiet;--leak-check=full;--error-exitcode=9'
	$(compile) build-valgrind -j$(JOBS)
	$(ctest) build-valgrind -L unit

clang: ## build everything with clang, warnings as errors (build-clang/)
	$(say) 'clang, warnings as errors'
	scripts/install-dependencies.sh clang
	$(configure) build-clang -DCMAKE_C_COMPILER=clang -DHVI_WERROR=ON
	$(compile) build-clang -j$(JOBS)

fuzz: ## FUZZ_SECONDS (60) of libFuzzer on each program of fuzz/ (build-fuzz/)
	$(say) 'fuzzing, $(FUZZ_SECONDS) seconds each'
	scripts/install-dependencies.sh clang
	$(configure) build-fuzz -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug -DHVI_TESTS=OFF \
	  -DHVI_FUZZ=ON -DHVI_SANITIZE=address,undefined,fuzzer-no-link
	$(compile) build-fuzz -j$(JOBS) --target fuzzers
	scripts/fuzz.sh build-fuzz $(FUZZ_SECONDS)

crash: ## kill -9 at every change of a file and at random times; COUNT: kills per command
oom: ## every allocation fails, once or from then on; under ASan too where build-asan/hvi is there
io-faults: ## EIO, ENOSPC, EINTR, short writes, disks that are tiny or read-only
tamper: ## single bits changed in every file that hvi takes up again
ranks: ## kill -9 of ranks and parts, a full disk under the first rank; where OpenMPI is there
hostile: ## names, titles, YAML and claims that would be commands or markup
soak: ## SOAK_SECONDS (600) of work that must not grow
$(campaigns): all
	$(say) '$@, full size'
	$(campaign) tests/campaigns/$@.sh full

isa: all ## the unit tests and a table of bits on each level of instructions; the unit tests on aarch64 under qemu
	$(say) 'levels of instructions'
	scripts/install-dependencies.sh gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static
	$(campaign) tests/campaigns/isa.sh full
	scripts/aarch64.sh build-aarch64

coverage: ## lines and branches that the suite covers, by folder (build-coverage/)
	$(say) 'coverage'
	$(configure) build-coverage -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS='--coverage -O0 -DHVI_NORMAL_EXIT'
	$(compile) build-coverage -j$(JOBS)
	-$(ctest) build-coverage
	scripts/coverage.sh build-coverage

bench: all ## speed, as ratios to limits measured in the same run
	$(BUILD)/hvi bench

bench-peers: all ## hvi beside JAX in one run (JAX from PyPI, in .venv/)
	test -x .venv/bin/python || python3 -m venv .venv
	.venv/bin/pip install --quiet jax
	.venv/bin/python bench/peers/games_jax.py $(BUILD)/hvi

reproduce: packages all ## the figures and claims of the paper, quickly, into out/
	$(BUILD)/hvi reproduce --out $(OUT)

page-check: all ## OUT/index.html (out/, made quickly if it is not there) in headless Chromium; shots in build/page/
	$(say) 'the report in a browser'
	scripts/install-dependencies.sh chromium python3
	test -e $(OUT)/index.html || $(BUILD)/hvi reproduce $(PAGE_IDS) --out $(OUT) --quiet
	python3 scripts/page-check.py $(OUT) $(BUILD)/page

gpu-check: ## the module for GPUs on this machine's, against double precision; log in docs/results/gpu/
	$(say) 'the GPU against double precision'
	$(configure) $(BUILD) -DHVI_GPU=ON
	$(compile) $(BUILD) -j$(JOBS) --target hvi hvi_gpu_check hvi_gpu_racecheck
	scripts/gpu-check.sh $(BUILD) docs/results/gpu/check.txt

deb: ## Debian packages of library, headers, program and modules (build-deb/packages/)
	$(say) 'Debian packages'
	scripts/install-dependencies.sh dpkg-dev file
	LDFLAGS="$$(dpkg-buildflags --get LDFLAGS)" $(configure) build-deb -DCMAKE_INSTALL_PREFIX=/usr -DHVI_TESTS=OFF
	$(compile) build-deb -j$(JOBS)
	rm -rf build-deb/packages
	cd build-deb && cpack
	ls -l build-deb/packages/*.deb

bundle: ## one tarball that runs without an installation (build-bundle/); GPU_CHECK=1 adds hvi-gpu-check
	$(say) 'a bundle'
	scripts/install-dependencies.sh xz-utils
	env -u CFLAGS -u CXXFLAGS -u LDFLAGS $(configure) build-bundle -DCMAKE_INSTALL_LIBDIR=lib -DHVI_TESTS=OFF
	$(compile) build-bundle -j$(JOBS) --target hvi hvi_bundle man $(if $(GPU_CHECK),hvi_gpu_check_bundle hvi_gpu_racecheck)
	GPU_CHECK=$(GPU_CHECK) scripts/bundle.sh build-bundle

wheel: ## the Python package with library and program, tried in a clean virtual environment (python/dist/)
	$(say) 'a wheel'
	scripts/install-dependencies.sh xz-utils python3-dev python3-cffi python3-setuptools python3-wheel python3-venv
	env -u CFLAGS -u CXXFLAGS -u LDFLAGS $(configure) build-bundle -DCMAKE_INSTALL_LIBDIR=lib -DHVI_TESTS=OFF
	$(compile) build-bundle -j$(JOBS) --target hvi hvi_bundle hvi_static man
	scripts/wheel.sh build-bundle
	scripts/try-wheel.sh python/dist

dist: ## tarball, Debian packages, bundle and wheel of the last commit, with SHA256SUMS (dist/)
	$(say) 'a release'
	JOBS=$(JOBS) scripts/dist.sh dist

try-dist: ## what dist/ holds, one by one, each on a bare root; as root
	$(say) 'a release on bare roots'
	JOBS=$(JOBS) scripts/try-dist.sh dist

interop: ## the Python package against packages of PyPI (Minari, SB3, TensorBoard, ONNX, ...), in .venv-interop/
	$(say) 'the Python package and the packages of others'
	scripts/install-dependencies.sh python3-dev python3-venv
	$(configure) $(BUILD)
	$(compile) $(BUILD) -j$(JOBS) --target hvi hvi_static
	scripts/interop.sh $(BUILD)

install: all ## install under PREFIX (/usr/local); DESTDIR is honoured
	cmake --install $(BUILD) --prefix $(PREFIX)

format: ## format every C file in place
	scripts/format.sh

check-format: ## fail on a C file that is not formatted
	$(say) 'formatting'
	scripts/format.sh --check

check-includes: ## fail on an include that points up the layers
	$(say) 'direction of includes'
	scripts/check-includes.sh

packages: ## install the Debian packages that are missing
	scripts/install-dependencies.sh

clean: ## remove every build folder
	rm -rf $(BUILD) build-asan build-tsan build-valgrind build-clang build-fuzz build-deb build-bundle \
	  build-aarch64 build-coverage build-dist

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | awk -F '\t' '{ printf "  make %-16s %s\n", $$1, $$2 }'
