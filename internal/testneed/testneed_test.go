package testneed

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// recorder keeps what Skip did instead of ending a test.
type recorder struct {
	testing.TB
	skipped, failed string
}

func (r *recorder) Helper()                      {}
func (r *recorder) Skip(args ...any)             { r.skipped = fmt.Sprint(args...) }
func (r *recorder) Fatalf(f string, args ...any) { r.failed = fmt.Sprintf(f, args...); panic(r) }

func TestHas(t *testing.T) {
	t.Setenv(Variable, " clang, cuda:sm_90a ,,avx512")
	require.True(t, Has("clang"))
	require.True(t, Has("cuda:sm_90a"))
	require.True(t, Has("avx512"))
	require.False(t, Has("cuda"))
	require.False(t, Has("avx512_bf16"))
	require.False(t, Has(""))
}

func TestSkipStatesTheReason(t *testing.T) {
	t.Setenv(Variable, "qemu")
	r := &recorder{}
	Skip(r, "clang", "not on PATH")
	require.Equal(t, "clang: not on PATH", r.skipped)
	require.Empty(t, r.failed)
}

func TestPromisedNeedFails(t *testing.T) {
	t.Setenv(Variable, "qemu,clang")
	r := &recorder{}
	require.PanicsWithValue(t, r, func() { Skip(r, "clang", "not on PATH") })
	require.Equal(t, "testneed: clang is required by LIKBENCH_REQUIRE but missing: not on PATH", r.failed)
	require.Empty(t, r.skipped)
}
