# The commands people type. Each installs what it misses (Debian and Ubuntu packages, by name).

CARGO ?= $(or $(shell command -v cargo),$(HOME)/.cargo/bin/cargo)
export TARGET := $(or $(CARGO_TARGET_DIR),target)

.PHONY: demo test accuracy deny bench docs image packages kubectl build clean-lab

## Stage three stuck pods on this machine, explain them, clean up
demo: packages
	$(CARGO) build -q -p why-terminating-agent -p lab
	sh tests/demo.sh

## Run every test; the scenarios make pods really stuck, so it needs root
test: packages kubectl build
	$(CARGO) test --workspace --exclude scenarios
	$(CARGO) test -p scenarios

## Try every two stuck pods on one node, odd nodes, and each alone, and write docs/accuracy.md; takes hours, fewer with
## ACCURACY_MINUTES
accuracy: packages build
	ACCURACY=$(CURDIR)/docs/accuracy.md $(CARGO) test -p scenarios

## Check what the project depends on: licences, sources, second versions, advisories
deny:
	CARGO=$(CARGO) sh tests/deny.sh

## Measure; compares with lsof, fuser, prometheus-node-exporter and kubectl in the same run
# The agent is the static one that the image holds, built apart: no feature that only the benchmark asks for.
bench: packages kubectl
	$(CARGO) run -q -p xtask -- image
	$(CARGO) build -q --release -p why-terminating-aggregator
	$(CARGO) build -q --release -p bench
	sh tests/bench/run.sh --agent $(TARGET)/static/*/release/why-terminating-agent
	sh tests/bench/run.sh mass
	sh tests/bench/run.sh cluster --kubectl "$(TARGET)/tools/kubectl"
	exporter=$$(sh tests/bench/exporter.sh) && sh tests/bench/run.sh \
		--agent $(TARGET)/static/*/release/why-terminating-agent idle --minutes 3 --exporter "$$exporter"

## Write the generated documents again
docs:
	$(CARGO) run -q -p xtask -- docs

## The images as $(TARGET)/why-terminating-{agent,aggregator}.oci.tar; needs no container engine
image:
	$(CARGO) run -q -p xtask -- image --program agent
	$(CARGO) run -q -p xtask -- image --program aggregator

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
