#!/bin/sh
# Vets, builds and tests everything under the build tag gorgonia on a machine without a GPU. gorgonia.org/cu needs
# CUDA headers, which come with the compiler wheels, and links the driver library, for which a stub is made here:
# its cuInit succeeds, because cu ends the process otherwise, and every other function returns 34, so the tests of
# the device skip. Packages: the arguments, default ./cuda/...
set -eu
cd "$(dirname "$0")/../.."
./cuda/_gen/fetch.sh
include=$PWD/build/cuda/nvidia/cuda_runtime/include
mkdir -p build/stub
if [ ! -e build/stub/libcuda.so ]; then
	printf '#include <cuda.h>\n' | gcc -E -P -I"$include" - | grep -oE '\bcu[A-Z][A-Za-z0-9_]*[[:space:]]*\(' |
		tr -d ' (' | sort -u | awk '{print "int "$1"(void){return "($1 == "cuInit" ? 0 : 34)";}"}' >build/stub/stub.c
	gcc -shared -fPIC -Wl,-soname,libcuda.so.1 -o build/stub/libcuda.so.1 build/stub/stub.c
	ln -sf libcuda.so.1 build/stub/libcuda.so
fi
[ $# -gt 0 ] || set -- ./cuda/...
export CGO_ENABLED=1 CGO_CFLAGS="-I$include" CGO_LDFLAGS="-L$PWD/build/stub"
go vet -tags gorgonia "$@"
go build -tags gorgonia "$@"
LD_LIBRARY_PATH=$PWD/build/stub go test -short -tags gorgonia "$@"
