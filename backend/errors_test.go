package backend_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
)

var conditions = []error{backend.ErrUnavailable, backend.ErrUnsupported, backend.ErrArgument, backend.ErrOutOfMemory, backend.ErrTooLarge,
	backend.ErrBudget, backend.ErrDeviceLost, backend.ErrCapturing, backend.ErrClosed}

// is requires that err, wrapped or not, is these conditions and no others.
func is(t *testing.T, err error, want ...error) {
	t.Helper()
	for _, e := range []error{err, fmt.Errorf("wrapped: %w", err)} {
		for _, c := range conditions {
			wanted := false
			for _, w := range want {
				wanted = wanted || w == c
			}
			require.Equal(t, wanted, errors.Is(e, c), "%v is %v", e, c)
		}
	}
}

func TestErrorTexts(t *testing.T) {
	cause := errors.New("libcuda.so.1 not found")
	lost := &backend.DriverError{Backend: "cuda", Call: "cuLaunchKernel", Code: 700, Name: "CUDA_ERROR_ILLEGAL_ADDRESS", Err: backend.ErrDeviceLost}
	for _, c := range []struct {
		err  error
		want string
		is   []error
	}{
		{&backend.UnavailableError{Backend: "cuda", Reason: "no driver"}, "cuda: unavailable: no driver", []error{backend.ErrUnavailable}},
		{&backend.UnavailableError{Backend: "cuda", Reason: "no driver", Err: cause}, "cuda: unavailable: no driver: libcuda.so.1 not found", []error{backend.ErrUnavailable}},
		{&backend.UnavailableError{Backend: "cuda", Reason: "gone", Err: lost}, "cuda: unavailable: gone: cuda: cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS (700)",
			[]error{backend.ErrUnavailable, backend.ErrDeviceLost}},
		{&backend.UnsupportedError{Backend: "simd", Kernel: "maxsim_bf16", Variant: "avx512bf16", Reason: "needs avx512bf16"},
			"simd: maxsim_bf16/avx512bf16: unsupported: needs avx512bf16", []error{backend.ErrUnsupported}},
		{&backend.UnsupportedError{Backend: "metal", Kernel: "rbf_matmul_f64", Reason: "no double"}, "metal: rbf_matmul_f64: unsupported: no double", []error{backend.ErrUnsupported}},
		{&backend.ArgumentError{Kernel: "maxsim", Operand: "Doc", Axis: "d", Why: "sizes differ between operands", Want: 128, Got: 96},
			"kernel: maxsim: operand Doc: sizes differ between operands: axis d is 96, want 128", []error{backend.ErrArgument}},
		{&backend.ArgumentError{Kernel: "maxsim", Why: "no instance for dtypes i8"}, "kernel: maxsim: no instance for dtypes i8", []error{backend.ErrArgument}},
		{&backend.ArgumentError{Kernel: "topk", Operand: "Score", Why: "rank", Want: 2, Got: 3}, "kernel: topk: operand Score: rank (got 3, want 2)", []error{backend.ErrArgument}},
		{&backend.ArgumentError{Kernel: "loss", Operand: "Score", Why: "NaN", Axis: "element", Got: 1 << 40}, "kernel: loss: operand Score: NaN at element 1099511627776", []error{backend.ErrArgument}},
		{&backend.AllocError{Backend: "cuda", Requested: 3 << 29, Live: 839<<30/10 - 1, Total: 792 << 30 / 10, Err: backend.ErrOutOfMemory},
			"cuda: alloc 1.5 GiB: out of memory (live 83.9 GiB of 79.2 GiB)", []error{backend.ErrOutOfMemory}},
		{&backend.AllocError{Backend: "simd", Requested: 97, Live: 4000, Budget: 4096, Total: 1 << 40, Err: backend.ErrBudget},
			"simd: alloc 97 B: over budget (live 3.9 KiB, budget 4.0 KiB of 1.0 TiB)", []error{backend.ErrBudget}},
		{&backend.AllocError{Backend: "host", Requested: 1 << 60, Err: backend.ErrTooLarge}, "host: alloc 1024.0 PiB: larger than the device (live 0 B)", []error{backend.ErrTooLarge}},
		{lost, "cuda: cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS (700)", []error{backend.ErrDeviceLost}},
		{&backend.DriverError{Backend: "metal", Call: "newBuffer", Code: 1, Name: "nil"}, "metal: newBuffer: nil (1)", nil},
		{&backend.SelectError{Request: "CUDA", Choices: []string{"auto", "cuda"}}, `backend: unknown backend "CUDA": choose one of auto, cuda`, []error{backend.ErrArgument}},
	} {
		require.EqualError(t, c.err, c.want)
		is(t, c.err, c.is...)
	}
	err := &backend.UnavailableError{Backend: "cuda", Reason: "gone", Err: lost}
	var d *backend.DriverError
	require.ErrorAs(t, err, &d)
	require.Equal(t, 700, d.Code)
	require.ErrorIs(t, &backend.UnavailableError{Err: cause}, cause)
}

func TestConditionTexts(t *testing.T) {
	var texts []string
	for _, c := range conditions {
		texts = append(texts, c.Error())
		is(t, c, c)
	}
	require.Equal(t, []string{"unavailable", "unsupported", "bad argument", "out of memory", "larger than the device", "over budget", "device lost",
		"not allowed while capturing", "used after close"}, texts)
}

func TestFormatBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 5 << 20: "5.0 MiB", 141 << 30: "141.0 GiB", 1 << 62: "4096.0 PiB", -8: "-8 B"} {
		require.Equal(t, want, backend.FormatBytes(n))
	}
}
