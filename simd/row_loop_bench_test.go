package simd

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// BenchmarkRowLoops times the routines of the row kernels on one row of 4096 in the caches, in picoseconds an element: what they
// cost apart from the memory.
func BenchmarkRowLoops(b *testing.B) {
	const n, g = 4096, 4096 / rowGroup
	names := []string{"f32", "bf16", "f16"}
	for _, u := range usableRowUnits(b) {
		for t, name := range names {
			near := func(b []byte) []byte { a := aligned(int64(len(b))); copy(a, b); return a }
			x, y, z := near(rowOf(t, normals(1, n))), aligned(4*n), near(rowOf(t, normals(2, n)))
			e, w, part, l := Words[float32](aligned(4*n)), Words[float32](aligned(4*n)), Words[float32](aligned(4*n)), newRowLocal()
			l.top.set(5, 1e-3, false)
			routines := map[string]func(){
				"max":       func() { u.max[t](&x[0], g, &l.lanes[0]) },
				"square":    func() { u.square[t](&x[0], g, &l.lanes[0]) },
				"exp":       func() { u.exp[t](&x[0], &e[0], g, &l.lanes[0], &l.top.max, 0) },
				"scale":     func() { u.scale[t](&w[0], &y[0], g, 2, 0) },
				"rmsScale":  func() { u.rmsScale[1][t](&x[0], &w[0], &y[0], g, 2, 0, 0) },
				"dotWeight": func() { u.rmsDotWeight[1][t](&z[0], &x[0], &w[0], &part[0], g, &l.lanes[0], 2, 0) },
				"rmsGrad":   func() { u.rmsGrad[t](&z[0], &x[0], &w[0], &y[0], g, 2, 1, 0, 0) },
			}
			for near, name := range []string{"pipe", "pipeNear"} {
				if f := u.pipe[near][t]; f != nil {
					routines[name] = func() { f(&x[0], &e[0], g, &l.lanes[0], &l.top.max, 0, &y[0]) }
				}
			}
			if f := u.rmsPipe[1][t]; f != nil {
				routines["rmsPipe"] = func() { f(&x[0], &w[0], &y[0], g, 2, &z[0], &l.lanes[0], 0) }
			}
			if f := u.rmsGradPipe[1][t]; f != nil {
				routines["rmsGradPipe"] = func() { f(&z[0], &x[0], &w[0], &y[0], g, 2, 1, &z[0], &x[0], &part[0], &l.lanes[0], 2, 0) }
			}
			if f := u.extremes[t]; f != nil {
				routines["extremes"] = func() { f(&x[0], g) }
			}
			for r, f := range routines {
				b.Run(fmt.Sprintf("%s/%s/%s", r, u.variant, name), func(b *testing.B) {
					best := math.Inf(1)
					for b.Loop() {
						start := time.Now()
						for range 16 {
							f()
						}
						best = min(best, time.Since(start).Seconds())
					}
					b.ReportMetric(best/16/n*1e12, "min-ps/element")
				})
			}
		}
	}
}
