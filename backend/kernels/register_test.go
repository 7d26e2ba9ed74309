package kernels_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/kernel"
	_ "github.com/likbench/likbench/backend/kernels"
)

func TestNamesOfInstances(t *testing.T) {
	var names []string
	for _, k := range kernel.All() {
		for _, i := range k.Instances() {
			names = append(names, i.Name)
		}
		require.NotEmpty(t, k.Bench(), k.Name())
		require.NotEmpty(t, k.Doc(), k.Name())
	}
	require.Contains(t, names, "maxsim_bf16")
	require.Contains(t, names, "maxsim_scaled_f8e4m3")
	require.Contains(t, names, "topk")
	require.Contains(t, names, "rms_norm_bf16_f32")
	require.Contains(t, names, "rms_norm_bf16")
}
