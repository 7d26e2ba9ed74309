package simd

// genericLoops are the portable rates, of scalar code.
var genericLoops = map[Level]map[string]rateLoop{
	Generic: {
		"fma_f32": {rateGeneric[float32], 16, "", "scalar multiply and add"},
		"fma_f64": {rateGeneric[float64], 16, "", "scalar multiply and add"},
	},
}

// rateSink keeps rateGeneric from being optimised away.
//
//lint:ignore U1000 written only, on purpose
var rateSink float64

// rateGeneric runs n passes of 8 independent products and sums.
func rateGeneric[F float32 | float64](n int) {
	var a, b, c, d, e, f, g, h F
	x, y := F(0.5), F(0.25)
	for range n {
		a += F(x * y)
		b += F(x * y)
		c += F(x * y)
		d += F(x * y)
		e += F(x * y)
		f += F(x * y)
		g += F(x * y)
		h += F(x * y)
		x = y + a*0 // keeps the product inside the loop
	}
	if s := a + b + c + d + e + f + g + h; s == -1 {
		rateSink = float64(s)
	}
}
