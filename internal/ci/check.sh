#!/bin/bash
# What CI checks, one named and timed step after another; a failing step does not keep the rest from running.
#
#   internal/ci/check.sh              every step
#   internal/ci/check.sh vet race     these steps
#
# Nothing is installed here, except Go modules and pinned Go tools under the git-ignored build/. A step whose tool
# is missing says so and passes, unless LIKBENCH_REQUIRE lists the tool (qemu, race, nvrtc): then it fails.
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
go=$(command -v go) || { echo "check: no go on PATH" >&2; exit 1; }
required=${LIKBENCH_REQUIRE:-}
# Compiling every CUDA object again takes minutes: it is the step objects, and no test of the others.
export LIKBENCH_REQUIRE=${required//nvrtc/}
sources() { git ls-files -z -co --exclude-standard -- "$@"; }

# absent NAME REASON: true, after a word about it, where the step may be left out.
absent() {
	case ",$required," in
	*",$1,"*) echo "$1 is required by LIKBENCH_REQUIRE but missing: $2"; return 1 ;;
	esac
	echo "left out: $1: $2"
}

step_test() { go test ./...; }

step_format() {
	local bad
	bad=$(sources '*.go' | xargs -0 gofmt -l) || return 1
	[ -z "$bad" ] || { echo "gofmt would change:"; echo "$bad"; return 1; }
	sources '*.sh' .ci/run | xargs -0 -n1 bash -n
}

tools() { mkdir -p build/tools && go -C internal/tools build -o ../../build/tools tool; }

step_asmfmt() {
	tools || return 1
	local bad
	bad=$(sources '*.s' | xargs -0 build/tools/asmfmt -l) || return 1
	[ -z "$bad" ] || { echo "asmfmt would change:"; echo "$bad"; return 1; }
}

step_staticcheck() { tools && build/tools/staticcheck ./...; }

# vet includes asmdecl: assembly against its Go declarations.
step_vet() { go vet ./... && go vet -tags noasm ./...; }

step_noasm() { LIKBENCH_REQUIRE= go test -tags noasm -short ./backend/... ./simd/... ./plaid/... ./cmd/likdocs; }

# The compiler may fuse multiply and add from amd64 v3 on, as it does on arm64: rounding must not follow it.
step_v3() {
	[ "$(go env GOARCH)" = amd64 ] || { echo "left out: not amd64"; return 0; }
	local f
	for f in avx2 bmi1 bmi2 f16c fma abm movbe; do
		grep -qwm1 "$f" /proc/cpuinfo || { echo "left out: the processor has no $f"; return 0; }
	done
	GOAMD64=v3 go test -short ./backend/... ./simd/... ./plaid/...
}

step_race() {
	[ "$(go env CGO_ENABLED)" = 1 ] && command -v gcc >/dev/null || { absent race "no gcc for the race detector's run time"; return; }
	# What has goroutines or assembly. Not cuda/driver: with the detector each foreign call allocates, which its
	# test forbids; nor what takes minutes and starts no goroutine that the rest does not. The longest first.
	go test -race -short -skip 'TestObjects|TestConform/generic|TestBindingsFake/Fake_A100|^TestCrash$' ./simd ./cuda ./plaid ./plaid/format ./plaid/store ./plaid/codec \
		./backend ./backend/canon ./backend/conform ./backend/kernel ./benchsuite ./internal/arena ./internal/meter ./internal/pool ./metal/mtl/...
}

step_arm64() {
	local qemu
	qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) || { absent qemu "no qemu-aarch64-static on PATH"; return; }
	# Not conform's own tests: they start themselves again, which the emulator does not pass on. Not backend/all, and
	# no drivers in tests: with them a program needs the dynamic loader of its architecture, which is not here.
	go list ./simd/... ./backend/... ./plaid/... | grep -v -e '/backend/conform$' -e '/backend/all$' |
		CGO_ENABLED=0 GOARCH=arm64 LIKBENCH_REQUIRE=neon xargs go test -short -tags nodriver -timeout 20m -exec "$qemu"
}

# The CUDA objects, compiled again: the same bytes.
step_objects() {
	[ -d build/cuda ] || { absent nvrtc "run cuda/_gen/fetch.sh"; return; }
	LIKBENCH_REQUIRE=nvrtc go test -timeout 30m -run TestObjectsRebuild ./cuda
}

# Everything generated without a compiler, made again: nothing may change.
step_fresh() {
	local before after
	before=$(sources | xargs -0 sha256sum 2>/dev/null | sort -k2)
	make -s generated || return 1
	after=$(sources | xargs -0 sha256sum 2>/dev/null | sort -k2)
	diff <(echo "$before") <(echo "$after") || { echo "generated files are stale: run 'make gen' and commit"; return 1; }
	(cd simd/_gen && go vet ./... && go test ./...) && (cd cuda/_gen && go vet ./... && go test ./...)
}

step_gorgonia() {
	[ -d build/cuda ] && command -v gcc >/dev/null || { absent nvrtc "headers come with the compiler: run cuda/_gen/fetch.sh"; return; }
	LIKBENCH_REQUIRE='' ./cuda/_gen/gorgonia.sh
}

# Packages, and their tests as vet sees them.
step_cross() {
	local target
	for target in linux/amd64 linux/arm64 darwin/arm64 windows/amd64; do
		echo "$target"
		CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/} go build ./... || return 1
		CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/} go vet ./... || return 1
	done
}

step_vendored() { internal/ci/vendored.sh; }
step_crlf() { internal/ci/crlf.sh; }

# A bounded number of inputs for each fuzz target.
step_fuzz() {
	local file target
	while IFS=: read -r file target; do
		go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZ:-1000x}" -fuzzminimizetime 10x "./$(dirname "$file")" || return 1
	done < <(sources '*_test.go' | xargs -0 grep -oE '^func Fuzz[A-Za-z0-9_]*' | sed 's/func //')
}

# The command itself, on whatever this machine has.
step_quick() { go run ./cmd/likbench --backend auto --quick --outdir "${RESULTS:-build/results}"; }

all=(test format vet asmfmt staticcheck noasm v3 race arm64 fresh objects gorgonia cross vendored crlf fuzz quick)
[ $# -gt 0 ] || set -- "${all[@]}"
for s in "$@"; do
	declare -F "step_$s" >/dev/null || { echo "check: no step $s; steps: ${all[*]}" >&2; exit 2; }
done
echo "check: $("$go" version); required here: ${required:-nothing}"
failed=() summary=()
for s in "$@"; do
	echo "=== $s"
	from=$SECONDS
	if "step_$s"; then word=ok; else word=FAILED; failed+=("$s"); fi
	summary+=("$(printf '%-12s %-6s %4d s' "$s" "$word" $((SECONDS - from)))")
	echo "--- $s: $word ($((SECONDS - from)) s)"
done
printf '%s\n' "" "summary, $SECONDS s" "${summary[@]}"
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
