package format

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/internal/golden"
	"github.com/likbench/likbench/internal/npy"
)

// searchScript has fast-plaid search an index with probing wide open, adds documents and
// searches again.
const searchScript = `
import sys, json, numpy as np, torch
from fast_plaid import search
index, case, n, k = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
q = np.load(case + ".queries.npy"); off = np.load(case + ".query_offsets.npy")
qs = [torch.from_numpy(q[off[i]:off[i + 1]]) for i in range(len(off) - 1)]
fp = search.FastPlaid(index=index, device="cpu")
found = fp.search(qs, top_k=n, n_full_scores=4 * n + 8, n_ivf_probe=k, show_progress=False)
more = torch.nn.functional.normalize(torch.randn(7, q.shape[1]), dim=-1)
fp.update(documents_embeddings=[more], start_from_scratch=0)
after = fp.search([more], top_k=1, n_full_scores=4096, n_ivf_probe=min(k, 8), show_progress=False)
print(json.dumps({"found": found, "after": after[0][0][0]}))
`

// TestSearchedByFastPlaid converts indexes to fast-plaid's layouts and has the published
// package load, search and extend them: its scores are those of the vectors decoded here
// within what half precision costs it, and its order is theirs where they differ by more.
func TestSearchedByFastPlaid(t *testing.T) {
	name := python(t, "fast_plaid")
	for _, c := range []struct{ area, name string }{
		{"plaid-index", "fp17_d32_b4"}, {"plaid-index", "fp17_d32_b2_chunks"}, {"nextplaid-index", "np_d64_b2_chunks"},
	} {
		for _, flavour := range []Flavour{FastPlaid14, FastPlaid17} {
			prefix := filepath.Join(golden.Root(t), c.area, c.name)
			dir := filepath.Join(t.TempDir(), "index")
			x := opened(t, prefix+".index")
			_, err := save(dir, flavour, x, WriteOptions{ChunkDocuments: 9})
			require.NoError(t, err)
			n, k := x.Documents(), x.K()
			text, err := exec.Command(name, "-c", searchScript, dir, prefix, strconv.Itoa(n), strconv.Itoa(k)).Output()
			require.NoError(t, err, "%s %s: %s", c.name, flavour, stderr(err))
			var got struct {
				Found [][][2]float64
				After int
			}
			require.NoError(t, json.Unmarshal(text, &got), "%s", text)
			want, err := npy.ReadFile(prefix + ".decoded_scores.npy")
			require.NoError(t, err)
			queries, err := npy.ReadFile(prefix + ".query_offsets.npy")
			require.NoError(t, err)
			offsets := queries.Float64s()
			for q, results := range got.Found {
				// Half of a unit component's rounding, for each of two vectors, a query token.
				limit := (offsets[q+1] - offsets[q]) * 0x1p-10
				filled := 0
				for j := range n {
					if x.Offsets()[j] < x.Offsets()[j+1] {
						filled++
					}
				}
				require.Len(t, results, filled)
				for i, r := range results {
					score := want.Float64s()[q*n+int(r[0])]
					require.InDelta(t, score, r[1], limit, "%s %s: query %d, document %v", c.name, flavour, q, r[0])
					if i > 0 {
						require.Less(t, score, want.Float64s()[q*n+int(results[i-1][0])]+2*limit)
					}
				}
			}
			require.Equal(t, n, got.After, "the document that fast-plaid has added is found")
			report, err := Check(dir)
			require.NoError(t, err)
			require.Empty(t, report.Problems)
			require.Equal(t, n+1, report.Documents)
		}
	}
}

func stderr(err error) []byte {
	if e, ok := err.(*exec.ExitError); ok {
		return e.Stderr
	}
	return nil
}
