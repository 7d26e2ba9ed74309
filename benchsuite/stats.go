package benchsuite

import (
	"math"
	"slices"
)

// Spread summarises repeats: quartiles by linear interpolation between order statistics.
type Spread struct {
	Median float64 `json:"median"`
	IQR    float64 `json:"iqr"`
	Min    float64 `json:"min"`
	N      int     `json:"n"`
}

// Summarize returns the spread of samples, which it sorts.
func Summarize(x []float64) Spread {
	if len(x) == 0 {
		return Spread{}
	}
	slices.Sort(x)
	return Spread{Median: quantile(x, .5), IQR: quantile(x, .75) - quantile(x, .25), Min: x[0], N: len(x)}
}

func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(math.Floor(at))
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
