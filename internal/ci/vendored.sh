#!/bin/bash
# The module as others get it: from a zip by version, vendored into a scratch module, built for each system and
# without assembly, tested; then installed by version from an empty GOPATH, without git, and run outside a checkout.
set -eu -o pipefail
cd "$(dirname "$0")/../.."
root=$PWD
tmp=$(mktemp -d)
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
version=v0.0.1
go run ./internal/ci/modproxy -out "$tmp/proxy" -version $version

# Other modules come from this machine's cache where it has them. Their sums were checked when they came.
cache=$(go env GOMODCACHE)/cache/download
GOPROXY="file://$tmp/proxy,file://$cache,$(go env GOPROXY)"
export GOPROXY GOSUMDB=off GOFLAGS=-modcacherw GOWORK=off
# A module cache of its own, since v0.0.1 is another one tomorrow.
export GOMODCACHE="$tmp/mod"

mkdir "$tmp/app"
cp internal/ci/testdata/app/*.txt "$tmp/app"
cd "$tmp/app"
for f in *.txt; do mv "$f" "${f%.txt}"; done
mkdir static && cp "$root/internal/ci/link/testdata/static/main.go" static
go mod edit -require github.com/likbench/likbench@$version
go mod tidy
go mod vendor
if grep -rl '^#include' --include='*.s' vendor/github.com/likbench | xargs -r grep -h '^#include' | grep -v '"textflag.h"\|"go_asm.h"\|"funcdata.h"' | grep '/'; then
	echo "an #include leaves its package's folder"; exit 1
fi
for heavy in github.com/spf13 github.com/schollz golang.org/x/perf github.com/stretchr gonum.org \
	github.com/likbench/likbench/internal/cranfield github.com/likbench/likbench/benchsuite; do
	[ ! -e "vendor/$heavy" ] || { echo "an application must not carry $heavy"; exit 1; }
done
go test -mod=vendor ./...
go test -mod=vendor -tags noasm ./...
for target in linux/amd64 linux/arm64 darwin/arm64 windows/amd64; do
	echo "vendored: $target"
	CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/} go build -mod=vendor ./...
	CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/} go build -mod=vendor -tags noasm ./...
done

# A program without the drivers is static: it starts where there is nothing else.
mkdir "$tmp/empty"
CGO_ENABLED=0 go build -mod=vendor -o "$tmp/empty/static" ./static
if [ "$(id -u)" = 0 ] && command -v chroot >/dev/null; then
	chroot "$tmp/empty" /static
else
	echo "left out: an empty root needs root"
	"$tmp/empty/static"
fi

mkdir "$tmp/gopath" "$tmp/home"
echo "installed: likbench@$version from an empty GOPATH, without git"
env -u GOMODCACHE HOME="$tmp/home" GOCACHE="$(go env GOCACHE)" GOPATH="$tmp/gopath" PATH="$(go env GOROOT)/bin" CGO_ENABLED=0 \
	go install github.com/likbench/likbench/cmd/likbench@$version
cd "$tmp/home"
"$tmp/gopath/bin/likbench" --backend auto --only topk --quick --json --outdir '' >report.json
grep -q '"revision": "module v0.0.1"' report.json || { echo "the revision is not 'module v0.0.1':"; grep revision report.json; exit 1; }
"$tmp/gopath/bin/likbench" --backend auto --quick --outdir out >table.txt # no pipe to head: a closed one ends the program
head -n 12 table.txt
[ "$(ls out | wc -l)" = 3 ]
