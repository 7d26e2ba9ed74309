package kernels

import (
	"math"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

func rmsNormCases(backward bool) []kernel.Case {
	mk := func(name string, rows, n int64, c Casting, offset float64, fill func(kernel.Rand, []float64), absent ...string) kernel.Case {
		out := kernel.Case{Name: name, Dims: kernel.Dims{"rows": rows, "n": n}, Attrs: map[string]any{"Offset": offset, "Casting": c}, Absent: absent}
		if backward {
			out.Fill = fills{"RStd": fillPositive}
		} else {
			out.Attrs["Eps"] = 1e-6
		}
		if fill != nil {
			if out.Fill == nil {
				out.Fill = fills{}
			}
			out.Fill["X"] = fill
		}
		return out
	}
	cases := []kernel.Case{
		mk("one", 1, 1, CastLlama, 0, nil),
		mk("llama", 7, 37, CastLlama, 0, nil),
		mk("gemma", 6, 96, CastGemma, 1, nil),
		mk("none", 5, 64, CastNone, 0, nil),
		mk("wide", 3, 1030, CastLlama, 0, nil),
		mk("wider", 2, 9000, CastGemma, 1, nil),
		mk("many-rows", 150, 16, CastLlama, 0, nil),
		mk("no-weight", 4, 33, CastLlama, 0, nil, "Weight"),
		mk("zero-rows", 3, 40, CastLlama, 0, fillZero),
		mk("large", 3, 48, CastGemma, 0, fillLarge),
		mk("nan", 4, 40, CastLlama, 0, fillOne(math.NaN(), 47)),
		mk("zero-whole", 3, 64, CastLlama, 0, fillZero), // rows of whole vectors, for which bodies have ways of their own
		mk("large-whole", 3, 96, CastGemma, 0, fillLarge),
		mk("nan-whole", 4, 64, CastLlama, 0, fillOne(math.NaN(), 100)),
		mk("nan-wide", 3, 4096, CastGemma, 1, fillOne(math.NaN(), 5000)),
		mk("inf-whole", 4, 64, CastLlama, 0, fillOne(math.Inf(1), 100)),
		mk("no-weight-whole", 4, 64, CastLlama, 0, nil, "Weight"),
		mk("empty", 0, 8, CastLlama, 0, nil),
	}
	if backward {
		cases = append(cases, mk("no-dw", 5, 70, CastLlama, 0, nil, "DW"), mk("neither", 5, 70, CastGemma, 0, nil, "Weight", "DW"),
			mk("no-dw-whole", 5, 64, CastLlama, 0, nil, "DW"), mk("neither-whole", 5, 64, CastGemma, 0, nil, "Weight", "DW"))
	}
	return cases
}

// fillLarge draws magnitudes whose squares overflow f16.
func fillLarge(r kernel.Rand, x []float64) {
	for i := range x {
		x[i] = (2*r.Float64() - 1) * 6e4
	}
}

func rmsNormBench(backward bool) []kernel.Case {
	mk := func(name string, rows, n int64, types ...backend.DType) kernel.Case {
		c := kernel.Case{Name: name, Dims: kernel.Dims{"rows": rows, "n": n}, Types: types, Attrs: map[string]any{"Casting": CastLlama}}
		if backward {
			c.Fill = fills{"RStd": fillPositive}
		} else {
			c.Attrs["Eps"] = 1e-6
		}
		return c
	}
	return []kernel.Case{
		mk("1024x2048", 1024, 2048), mk("2048x4096", 2048, 4096), mk("8192x4096", 8192, 4096), mk("32768x256", 32768, 256), mk("512x65536", 512, 65536),
	}
}
