# The commands people type. Each installs what it misses (Debian and Ubuntu packages, by name).

CARGO ?= $(or $(shell command -v cargo),$(HOME)/.cargo/bin/cargo)
export TARGET := $(or $(CARGO_TARGET_DIR),target)

VERSION := $(shell sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$$/\1/p' Cargo.toml)
AGENT := $(TARGET)/static/$(shell uname -m)-unknown-linux-gnu/release/why-terminating-agent
# What is built, and how.
PROGRAM ?= all
PROFILE ?= release
OWN_ARCH := $(subst aarch64,arm64,$(subst x86_64,amd64,$(shell uname -m)))
# What is built for; `make image` and `make release` take amd64,arm64 for both. Another machine than this one needs its Rust library and linker (docs/release.md).
ARCH ?= $(OWN_ARCH)

.PHONY: demo test accuracy deny bench docs static image release archives reproducible arm64 coverage mutants tag packages kubectl build \
	clean-lab cluster e2e soak test-vm

## Stage three stuck pods on this machine, explain them, show the page, clean up
demo: packages
	$(CARGO) build -q -p why-terminating-agent -p why-terminating-aggregator -p lab
	sh tests/demo.sh

## Run every test; the scenarios make pods really stuck, so it needs root
# The fake API server of all tests grants what the chart grants, and writes down what of it is used: that is compared last.
# The scenarios by themselves, or that comparison, would have most crates compiled once more, with fewer features.
test: export RIGHTS_USED = $(abspath $(TARGET))/rights-used
test: export STEPS_GIVEN = $(abspath $(TARGET))/steps-given
# They wait more than they compute.
test: export RUST_TEST_THREADS = $(shell expr 3 \* $$(nproc))
test: packages kubectl build
	rm -f $(RIGHTS_USED) $(STEPS_GIVEN)
	$(CARGO) test --workspace --exclude scenarios
	$(CARGO) test --workspace --test scenarios
	$(TARGET)/debug/rights $(RIGHTS_USED)
	$(CARGO) run -q -p xtask -- steps $(STEPS_GIVEN)

## Try every two stuck pods on one node, odd nodes, and each alone, and write docs/evidence/accuracy.md; takes hours, fewer with
## ACCURACY_MINUTES
accuracy: packages build
	COMMIT=$$(git describe --always --dirty --abbrev=8) ACCURACY=$(CURDIR)/docs/evidence/accuracy.md $(CARGO) test --workspace --test scenarios

## Try it on a real cluster: that of KUBECONFIG, or one made of the binaries in KUBE_ASSETS; SET=api: without a node, in minutes
# Images of this machine's kind: the node is this machine. The plugin's is not installed.
e2e: cluster packages kubectl
ifneq ($(SET),api)
	$(MAKE) image PROGRAM=agent
	$(MAKE) image PROGRAM=aggregator
endif
	$(CARGO) build -q -p e2e -p why-terminating-agent -p kubectl-why-terminating
	sh tests/e2e/run.sh

# Whether there is one to ask, before anything is installed or built.
cluster:
	@sh tests/e2e/run.sh --check

## Pods that stick and resolve for MINUTES=30 while API server, runtime and agent fail, for a third of it beside a hostile
## pod; SEED=… makes the choices of an earlier run again
MINUTES ?= 30
soak: packages
	$(MAKE) static PROGRAM=agent
	$(CARGO) build -q -p soak -p lab
	sh tests/soak/run.sh --agent $(AGENT) --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

## Scenarios whose tasks may never end, in a virtual machine: qemu, a Debian and its kernel; FILTER=vm-nfs runs some
test-vm: packages
	$(CARGO) build -q -p why-terminating-agent
	CARGO=$(CARGO) sh tests/vm/run.sh $(FILTER)

## How much of the judgement the tests run, by line; fails below 95 %
coverage:
	CARGO=$(CARGO) sh tests/coverage.sh

## Which changes of gates and causes no test notices: COUNT of them (300), drawn by SEED; FIRST goes on where a run ended
mutants:
	CARGO=$(CARGO) sh tests/mutants.sh

## Check what the project depends on: licences, sources, second versions, advisories
deny:
	CARGO=$(CARGO) sh tests/deny.sh

## Measure; compares with lsof, fuser, prometheus-node-exporter and kubectl in the same run
# The agent is the static one that the image holds, built apart: no feature that only the benchmark asks for.
bench: packages kubectl
	$(MAKE) static PROGRAM=agent
	$(CARGO) build -q --release -p kubectl-why-terminating -p why-terminating-aggregator -p bench
	sh tests/bench/run.sh
	sh tests/bench/run.sh cluster --kubectl "$(TARGET)/tools/kubectl"
	sh tests/bench/run.sh service
	exporter=$$(sh tests/bench/exporter.sh) && sh tests/bench/run.sh idle --minutes 3 --exporter "$$exporter"

## Write the generated documents again
docs:
	$(CARGO) run -q -p xtask -- docs

## Programs that need no library of their machine, below $(TARGET)/static; PROGRAM=agent|aggregator|plugin, PROFILE=dev for tests
static:
	CARGO=$(CARGO) sh deploy/static.sh $(PROGRAM) $(PROFILE) $(ARCH)

## Their images as $(TARGET)/*.oci.tar; needs buildah. Of several machines with ARCH=amd64,arm64
image:
	CARGO=$(CARGO) sh deploy/image.sh $(PROGRAM) $(PROFILE) $(TARGET) $(ARCH)

## A release with its checksums, in $(TARGET)/release-files; of several machines with ARCH=amd64,arm64, with the plugin for Windows too:
## PLUGINS=windows-amd64,windows-arm64
release:
	CARGO=$(CARGO) sh deploy/release.sh $(TARGET)/release-files $(ARCH) $(PLUGINS)

## Run the plugin of each archive that `make release` has made, for another machine under qemu or wine
archives:
	$(CARGO) build -q -p apiserver -p kubectl-why-terminating
	sh tests/archive.sh

## Build the static programs a second time, under another path and user, and compare
reproducible:
	CARGO=$(CARGO) sh tests/reproducible.sh $(PROGRAM) $(PROFILE) $(ARCH)

## Run the programs for arm64 under qemu: they must say what this machine's say; PROFILE=release takes the optimised ones
arm64:
	$(CARGO) build -q -p apiserver -p why-terminating-agent -p kubectl-why-terminating \
		-p why-terminating-aggregator
	sh tests/arm64.sh

## The signed tag of this version, where its changes are written down and nothing is left to commit
tag:
	@grep -q '^## $(VERSION) ' CHANGELOG.md || { echo "CHANGELOG.md has no section '## $(VERSION) (DATE)'" >&2; exit 1; }
	@[ -z "$$(git status --porcelain)" ] || { echo "something is not committed" >&2; exit 1; }
	@! git grep -nE '(agent|aggregator|plugin|image|newTag|appVersion|image\.version)(:|=)[ "]*[0-9]+\.[0-9]+\.[0-9]+' \
		-- Dockerfile deploy '*.md' | grep -vE '[^0-9.]$(subst .,\.,$(VERSION))([^0-9.]|\.?$$)' || \
		{ echo "these name another version than $(VERSION)" >&2; exit 1; }
	git tag -s v$(VERSION) -m "why-terminating $(VERSION)"

build:
	$(CARGO) build --workspace

packages:
	sh tests/packages.sh

# One of a known version, for the tests that show our Events with it.
kubectl:
	sh tests/kubectl.sh

## Take down whatever a killed test left behind
clean-lab:
	$(TARGET)/debug/lab down --all
