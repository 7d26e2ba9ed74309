package kernels

import (
	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// MaxSimScaledArgs are the operands of [MaxSimScaled]. Axes as in [MaxSimArgs]; one scale
// per token multiplies its components.
type MaxSimScaledArgs struct {
	Query      backend.View   `kernel:"in T tq,d"`
	QueryScale backend.View   `kernel:"in f32 tq"`
	QueryOff   kernel.Offsets `kernel:"in i64 nq+1 offsets=tq"`
	Doc        backend.View   `kernel:"in T td,d"`
	DocScale   backend.View   `kernel:"in f32 td"`
	DocOff     kernel.Offsets `kernel:"in i64 nd+1 offsets=td"`
	QueryMask  backend.View   `kernel:"in u8 tq opt"`
	DocMask    backend.View   `kernel:"in u8 td opt"`
	Score      backend.View   `kernel:"out f32 nq,nd"`
	Winner     backend.View   `kernel:"out i32 tq,nd opt"`
	EmptyZero  bool           `kernel:"attr"`
}

// fp8Unit is the roundoff that a Hopper tensor core's e4m3 accumulation is allowed: it
// adds in fixed point with fewer bits than f32 keeps. 2^-13 covers 14 fraction bits.
const fp8Unit = 0x1p-13

// MaxSimScaled is [MaxSim] over 8-bit floats with a scale per token; the scales multiply
// a dot product before the maximum is taken, so they decide which token wins.
var MaxSimScaled = kernel.Declare(kernel.Spec[MaxSimScaledArgs]{
	Name: "maxsim_scaled", Family: "lateinteraction",
	Source: "Khattab and Zaharia, ColBERT, SIGIR 2020; Micikevicius et al., FP8 formats for deep learning, 2022",
	Doc: "MaxSim over 8-bit floats: dot(query, document) in f32, times the query token's and the document token's scale, then the maximum and the sum. " +
		"Empty, masked and NaN rules are those of maxsim.",
	Vars: []string{"T"}, Instances: [][]backend.DType{{f8e4m3}},
	Check: func(a *MaxSimScaledArgs) error { return checkMaxSim("maxsim_scaled", &a.Query, &a.DocOff) },
	Reference: func(r *kernel.Ref, a *MaxSimScaledArgs) error {
		m := maxSimRef{
			query: r.Read(&a.Query), doc: r.Read(&a.Doc), d: int(a.Query.Dims[1]),
			queryScale: r.Read(&a.QueryScale), docScale: r.Read(&a.DocScale),
			queryMask: r.Ints(&a.QueryMask), docMask: r.Ints(&a.DocMask), emptyZero: a.EmptyZero,
		}
		m.queryOff = refOffsets(r, "QueryOff", &a.QueryOff, a.Query.Dims[0])
		m.docOff = refOffsets(r, "DocOff", &a.DocOff, a.Doc.Dims[0])
		m.run(a.Winner.Absent())
		r.Write(&a.Score, m.score)
		r.WriteInts(&a.Winner, m.winner)
		r.Margin("Winner", m.margin, m.scale)
		return nil
	},
	Tolerance: map[string]kernel.Tolerance{
		// A tensor core aligns the products of one instruction to their largest before adding:
		// the error is a few units of the largest partial sum, not one per term.
		"Score":  kernel.Rounding[MaxSimScaledArgs]{Terms: "4", Slack: 1, Unit: fp8Unit},
		"Winner": kernel.Winner{Of: "Score"},
	},
	Independent: "nd",
	Cost: func(c *backend.Call) kernel.Cost {
		return maxSimCost(c, "dot_f8", []int{0, 1, 2, 3, 4, 5, 6, 7}, []int{8, 9})
	},
	Cases: scaledCases(),
	Bench: scaledBench(),
})

func scaledCases() []kernel.Case {
	out := maxSimCases()
	kept := out[:0]
	for _, c := range out {
		if c.Attrs["Normalize"] != nil {
			continue // scales already normalise
		}
		f := fills{"QueryScale": fillPositive, "DocScale": fillPositive}
		for k, v := range c.Fill {
			f[k] = v
		}
		c.Fill = f
		kept = append(kept, c)
	}
	return kept
}

func scaledBench() []kernel.Case {
	out := maxSimBench()
	for i := range out {
		out[i].Fill = fills{"QueryScale": fillPositive, "DocScale": fillPositive}
	}
	return out
}
