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
// (the first is the smallest there is); a ragged axis gets segments of those lengths.
func TileCases(k kernel.Info, b *backend.Binding) []kernel.Case {
	if len(k.Cases()) == 0 {
		return nil
	}
	base := k.Cases()[min(1, len(k.Cases())-1)]
	var out []kernel.Case
	for _, axis := range slices.Sorted(maps.Keys(b.Tile)) {
		t := b.Tile[axis]
		sizes := []int64{1, t - 1, t, t + 1, 2 * t, 0}
		if _, ragged := base.Lens[axis]; ragged {
			c := clone(base, fmt.Sprintf("tile-%s-%d", axis, t))
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
			c := clone(base, fmt.Sprintf("tile-%s-%d-of-%d", axis, n, t))
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
