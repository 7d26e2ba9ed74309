#!/bin/bash
# A clone with git's conversion to CR LF, as made on Windows by default: whatever is hashed or compared byte for
# byte must still be right, and the tests must leave the clone clean. They run with Go and nothing else on PATH.
set -eu -o pipefail
cd "$(dirname "$0")/../.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
git clone --quiet -c core.autocrlf=true "file://$PWD" "$tmp/clone"
cd "$tmp/clone"
if git ls-files --eol | grep -E 'i/lf +w/(crlf|mixed)'; then
	echo "these files were converted: mark them -text in .gitattributes"; exit 1
fi
go vet ./cmd/... ./internal/...
# Go alone: no compiler, no emulator, no wheels, no git.
PATH="$(go env GOROOT)/bin" CGO_ENABLED=0 LIKBENCH_REQUIRE='' \
	go test -short ./cmd/likdocs ./cuda ./cuda/internal/... ./internal/... ./metal/internal/flatten ./plaid/... ./benchsuite/...
bash -n .ci/run internal/ci/*.sh
go run ./cmd/likdocs -check
go run ./metal/_gen
go run ./cuda/internal/headers
go run ./cmd/likbench --backend auto --quick --only topk --outdir ''
[ -z "$(git status --porcelain)" ] || { git status --short; echo "the clone is not clean after the tests"; exit 1; }
