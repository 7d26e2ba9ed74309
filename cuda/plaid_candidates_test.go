package cuda

import "testing"

func TestCandidatesWorkspace(t *testing.T) {
	need := func(a [16]int64) int64 {
		words := CeilDiv(a[7], 32)
		return 4 * a[2] * (candidatesPartsOf(a[2])*CeilDiv(words, 4)*4 + max(CeilDiv(words, candidatesTile), 1))
	}
	for _, n := range []int64{0, 1, 31, 1024, 32769, 1000000} {
		monotone(t, [16]int64{7: n}, 2, []int64{0, 1, 15, 16, 17, 33, 64, 65, 127, 128, 129, 255, 256, 257, 5000}, candidatesWorkspace, need)
	}
	for _, nq := range []int64{1, 16, 17, 64, 1000} {
		monotone(t, [16]int64{2: nq}, 7, []int64{0, 1, 32, 33, 127, 128, 129, 8192, 8193, 1 << 20}, candidatesWorkspace, need)
	}
}
