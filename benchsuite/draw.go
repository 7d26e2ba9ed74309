package benchsuite

import (
	"errors"
	"runtime"
	"sync"

	"github.com/likbench/likbench/backend/harness"
)

// drawersMost is the sets that are drawn at a time: each has an image in main memory.
const drawersMost = 4

// draw makes n operand sets, several at a time; the data of a set follow from its number.
func (r *runner) draw(it *Item, seed uint64, n int) ([]*harness.Operands, error) {
	workers := min(n, runtime.GOMAXPROCS(0), drawersMost)
	for len(r.drawers) < workers {
		s, err := r.cfg.Device.NewStream()
		if err != nil {
			return nil, err
		}
		r.drawers = append(r.drawers, s)
	}
	sets, errs := make([]*harness.Operands, n), make([]error, n)
	var wg sync.WaitGroup
	for w, s := range r.drawers[:workers] {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				if sets[i], errs[i] = harness.Build(it.Kernel, it.Instance, it.Case, s, seed+uint64(i), harness.Layout{}); errs[i] != nil {
					return
				}
				sets[i].Use(r.stream)
			}
			errs[w] = errors.Join(errs[w], s.Sync())
		})
	}
	wg.Wait()
	for _, err := range errs { // the first, as if they had been drawn in order
		if err != nil {
			return nil, errors.Join(err, free(sets))
		}
	}
	return sets, nil
}

func free(sets []*harness.Operands) (err error) {
	for _, s := range sets {
		if s != nil {
			err = errors.Join(err, s.Free())
		}
	}
	return err
}

// close ends all streams.
func (r *runner) close() (err error) {
	for _, s := range r.drawers {
		err = errors.Join(err, s.Close())
	}
	return err
}
