#!/bin/sh
# Runs on the machine with the GPU, from the root of the repository, with what build.sh made:
#
#	run.sh conform     conformance of cuda, and of simd at every level the processor has
#	run.sh gorgonia    cuda through the alternative driver binding
#	run.sh topten      the ten best of the collection's queries on every backend here
#	run.sh memcheck    memcheck over cases that run every entry of every variant
#	run.sh racecheck   racecheck over those of the kernels that RACE names, two processes each, side by side: nothing is timed
#	run.sh sanitize    both
#	run.sh bench       likbench on cuda: every shape; results go to $OUT or results/
#	run.sh cpu         likbench on simd, one core and all
#
# LIKBENCH_REQUIRE makes a missing capability a failure: here cuda is always required.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
out=${OUT:-$root/results}
mkdir -p "$out"
export LIKBENCH_REQUIRE=${LIKBENCH_REQUIRE:-cuda,cuda:sm_90a}
export LIKBENCH_GOLDEN="$root/internal/golden/testdata"
bin=$root/device
status=0

# step NAME FOLDER COMMAND...: runs in FOLDER as go test would, keeps the log, prints its end.
step() {
	name=$1 folder=$2
	shift 2
	start=$(date +%s)
	(cd "$root/$folder" && "$@") >"$out/$name.log" 2>&1
	rc=$?
	echo "== $name: exit $rc, $(($(date +%s) - start)) s"
	grep -E '^\s*--- FAIL|^(FAIL|PASS|ok|panic)|ERROR SUMMARY|RACECHECK SUMMARY' "$out/$name.log" | head -n "${LINES_SHOWN:-40}"
	[ $rc -eq 0 ] || status=1
	return $rc
}

memcheck() {
	step memcheck cuda compute-sanitizer --tool memcheck --error-exitcode 9 "$bin/cuda.test" -test.short -test.run 'TestConform|TestDeviceCentroids' -test.timeout 280s
}

# race NAME TESTS: racecheck over TESTS.
race() {
	step "racecheck_$1" cuda timeout 400 compute-sanitizer --tool racecheck --error-exitcode 9 "$bin/cuda.test" -test.short -test.run "$2" -test.timeout 390s
}

racecheck() {
	checks=
	for kernel in ${RACE:-maxsim_bf16 maxsim_f32 maxsim_scaled topk hardest rms softmax rbf nearest kmeans residual_encode centroid plaid residual_maxsim_f32 residual_maxsim_f16 residual_maxsim_int8}; do
		race "$kernel" "TestConform$/kernels/^$kernel" &
		checks="$checks $!"
		race "${kernel}_narrow" "TestConformNarrow/kernels/^$kernel|TestDeviceCentroids/^$kernel" &
		checks="$checks $!"
	done
	for check in $checks; do wait "$check" || status=1; done
}

for what in "$@"; do
	case $what in
	conform)
		step simd simd "$bin/simd.test" -test.timeout 240s
		step cuda cuda "$bin/cuda.test" -test.v -test.timeout 400s
		;;
	gorgonia)
		step gorgonia cuda "$bin/cuda_gorgonia.test" -test.timeout 300s
		;;
	topten)
		step topten cmd/likbench "$bin/likbench.test" -test.run TestTopTen -test.v -test.timeout 200s
		;;
	memcheck)
		memcheck
		;;
	racecheck)
		racecheck
		;;
	sanitize)
		memcheck
		racecheck
		;;
	bench)
		step bench . "$bin/likbench" --backend cuda --full --outdir "$out/cuda"
		tail -n 200 "$out/bench.log"
		;;
	cpu)
		step cpu . "$bin/likbench" --backend simd --outdir "$out/simd"
		tail -n 120 "$out/cpu.log"
		;;
	*)
		echo "run.sh: unknown part $what" >&2
		exit 2
		;;
	esac
done
exit $status
