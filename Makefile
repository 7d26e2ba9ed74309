# Daily commands. CI runs .ci/run: it installs the pinned tools, then does what 'make check' does.
.PHONY: check gen generated test cross bench docs device

check:
	internal/ci/check.sh

gen: generated
	cuda/_gen/fetch.sh && cd cuda/_gen && go run .

# What is generated without a compiler.
generated: docs
	go run ./metal/_gen
	go run ./cuda/internal/headers
	cd plaid/wordpiece && go generate
	cd simd/_gen && go run .

test:
	go test ./...

cross:
	internal/ci/check.sh cross arm64 v3 noasm

bench:
	go run ./cmd/likbench --backend auto --full

docs:
	go run ./cmd/likdocs

# Programs for a machine that has the device and no Go, in build/device: docs/measuring.md says what to run there.
device:
	CGO_ENABLED=0 go build -o build/device/likbench ./cmd/likbench
	CGO_ENABLED=0 go test -c -o build/device/cuda.test ./cuda
