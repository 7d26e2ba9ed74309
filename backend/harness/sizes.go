package harness

import (
	"fmt"
	"maps"
	"slices"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
)

// TileCases derives cases from the sizes a variant works in: one, less, equal, greater, a
// multiple, and empty, along each axis of its tile. The base is the kernel's second case
// (the first is the smallest there is); a ragged axis gets segments of those lengths. A
// kernel with ragged operands has a second base, its third case, which has aligned sizes
// where the second has odd ones: fast variants refuse one of them.
func TileCases(k kernel.Info, b *backend.Binding) []kernel.Case {
	cases := k.Cases()
	if len(cases) == 0 {
		return nil
	}
	out := tileCases(k, b, cases[min(1, len(cases)-1)], "")
	if ragged := slices.ContainsFunc(k.Operands(), func(o kernel.Operand) bool { return o.IsOffsets }); ragged && len(cases) > 2 {
		out = append(out, tileCases(k, b, cases[2], "-"+cases[2].Name)...)
	}
	return out
}

func tileCases(k kernel.Info, b *backend.Binding, base kernel.Case, suffix string) []kernel.Case {
	var out []kernel.Case
	for _, axis := range slices.Sorted(maps.Keys(b.Tile)) {
		t := b.Tile[axis]
		sizes := []int64{1, t - 1, t, t + 1, 2 * t, 0}
		if _, ragged := base.Lens[axis]; ragged {
			c := clone(base, fmt.Sprintf("tile-%s-%d%s", axis, t, suffix))
			c.Lens[axis] = sizes
			delete(c.Dims, axis)
			for _, op := range k.Operands() {
				if op.IsOffsets && k.Axes()[op.OffsetsOf] == axis {
					c.Dims[k.Axes()[op.Axes[0].Axis]] = int64(len(sizes))
				}
			}
			out = append(out, c)
			continue
		}
		for _, n := range sizes {
			if n < 0 {
				continue
			}
			c := clone(base, fmt.Sprintf("tile-%s-%d-of-%d%s", axis, n, t, suffix))
			c.Dims[axis] = n
			k.Derive(&c)
			out = append(out, c)
		}
	}
	return out
}

func clone(c kernel.Case, name string) kernel.Case {
	c.Name = name
	c.Dims = c.Dims.Clone()
	c.Lens = maps.Clone(c.Lens)
	c.Attrs = maps.Clone(c.Attrs)
	return c
}
