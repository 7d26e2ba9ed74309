#!/bin/sh
# Builds what a machine with a GPU and without Go needs into the git-ignored folder device/: test binaries of the
# packages that run there, and likbench, all without cgo and stripped.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p device
export CGO_ENABLED=0 GOOS=linux GOARCH=amd64
for p in "${@:-cuda simd plaid backend/canon cmd/likbench}"; do
	for q in $p; do
		go test -c -trimpath -ldflags='-s -w' -o "device/$(basename "$q").test" "./$q"
	done
done
go build -trimpath -ldflags='-s -w' -o device/likbench ./cmd/likbench
if [ -e build/stub/libcuda.so ]; then # made by cuda/_gen/gorgonia.sh: the alternative driver binding links the library
	CGO_ENABLED=1 CGO_CFLAGS="-I$PWD/build/cuda/nvidia/cuda_runtime/include" CGO_LDFLAGS="-L$PWD/build/stub" \
		go test -c -tags gorgonia -trimpath -ldflags='-s -w' -o device/cuda_gorgonia.test ./cuda
fi
ls -l device
