package benchsuite

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernels"
)

// names are the planned instance/case pairs.
func names(t *testing.T, f *fake, sel Selection) []string {
	t.Helper()
	items, err := Plan(f, sel)
	require.NoError(t, err)
	var out []string
	for _, it := range items {
		out = append(out, it.Instance.Name+"/"+it.Case.Name)
	}
	return out
}

func TestPlanPatterns(t *testing.T) {
	f := newFake("good", "other")
	all := names(t, f, Selection{})
	require.Contains(t, all, "topk/rerank-1k-10")
	require.Contains(t, all, "maxsim_bf16/"+kernels.MaxSim.Bench()[0].Name, "an instance without a variant is planned, to be reported")
	require.NotContains(t, all, "topk/collection", "only the headline by default")
	require.Contains(t, names(t, f, Selection{Full: true}), "topk/collection")

	require.Equal(t, []string{"topk/rerank-1k-10"}, names(t, f, Selection{Only: []string{"topk"}}))
	require.Equal(t, []string{"topk/collection"}, names(t, f, Selection{Only: []string{"collection"}}))
	require.Equal(t, []string{"topk/collection"}, names(t, f, Selection{Only: []string{"topk/coll*"}}))
	norms := names(t, f, Selection{Only: []string{"rms_norm_bf16*"}})
	require.Len(t, norms, 2)
	require.Contains(t, norms[0], "rms_norm_bf16/")
	require.Contains(t, norms[1], "rms_norm_bf16_f32/")
	products := names(t, f, Selection{Only: []string{"rbf_matmul", "topk"}, DTypes: []string{"f64", "f32"}})
	require.Len(t, products, 3)
	require.Contains(t, products[1], "rbf_matmul_f64/")
	require.Equal(t, []string{"topk/rerank-1k-10"}, names(t, f, Selection{Variants: []string{"other"}}))
}

func TestPlanPicksVariants(t *testing.T) {
	items, err := Plan(newFake("good", "other"), Selection{Only: []string{"topk"}, Variants: []string{"other"}})
	require.NoError(t, err)
	require.Len(t, items, 1)
	require.Len(t, items[0].Bindings, 1)
	require.Equal(t, "other", items[0].Bindings[0].Variant)
	require.EqualValues(t, 1000*4+10*8, items[0].Bytes)
}

// A mistyped selection must not look like a clean run.
func TestPlanRefusesWhatMatchesNothing(t *testing.T) {
	for _, x := range []struct {
		sel  Selection
		text string
	}{
		{Selection{Only: []string{"topk", "tpok"}}, `benchsuite: --only "tpok" matches nothing`},
		{Selection{Variants: []string{"avx3"}}, `benchsuite: --variants "avx3" matches nothing`},
		{Selection{DTypes: []string{"fp32"}}, `benchsuite: --dtype "fp32" matches nothing`},
		{Selection{Only: []string{"topk"}, DTypes: []string{"bf16"}}, `benchsuite: --only "topk" matches nothing`},
		{Selection{Only: []string{"[a"}}, `benchsuite: --only "[a": syntax error in pattern`},
	} {
		_, err := Plan(newFake("good"), x.sel)
		require.EqualError(t, err, x.text)
		require.ErrorIs(t, err, backend.ErrArgument)
		var p *PatternError
		require.ErrorAs(t, err, &p)
	}
}
