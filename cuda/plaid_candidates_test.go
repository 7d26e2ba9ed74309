package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

// TestCandidatesCluster: what the variant takes, and its blocks: eight for each query and for each part of the offsets.
func TestCandidatesCluster(t *testing.T) {
	for _, c := range []struct {
		nq, documents, k int64
		text             string
		y, shared        uint32
	}{
		{1, 20000, 16384, "", 1 + 5, 4 * (625 + 64)},
		{0, 0, 1, "", 1, 4},
		{16, 131072, 1 << 20, "", 16 + 8, 32 << 10},
		{17, 9, 9, "cuda: plaid_candidates/cluster: unsupported: 17 queries, 9 documents and 9 cells, at most 16 and 131072, and bits of 32.0 KiB", 0, 0},
		{1, 131073, 9, "cuda: plaid_candidates/cluster: unsupported: 1 queries, 131073 documents and 9 cells, at most 16 and 131072, and bits of 32.0 KiB", 0, 0},
		{1, 131072, 1<<20 + 1, "cuda: plaid_candidates/cluster: unsupported: 1 queries, 131072 documents and 1048577 cells, at most 16 and 131072, and bits of 32.0 KiB", 0, 0},
	} {
		a := &kernels.PlaidCandidatesArgs{Documents: c.documents}
		call := &backend.Call{Args: a}
		call.Axes[2], call.Axes[3] = c.nq, c.k
		if err := candidatesClusterAccept(call); c.text != "" {
			require.ErrorIs(t, err, backend.ErrUnsupported)
			require.EqualError(t, err, c.text)
			continue
		} else {
			require.NoError(t, err)
		}
		var g Geometry
		candidatesClusterGeometry(a, call, &g)
		require.Equal(t, Geometry{Grid: [3]uint32{8, c.y, 1}, Block: [3]uint32{512, 1, 1}, Shared: c.shared}, g)
	}
}

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
