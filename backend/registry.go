package backend

import (
	"sort"
	"sync"
)

type registration struct {
	rank int
	b    Backend
}

var registry struct {
	sync.Mutex
	all []registration // append-only
}

// Register adds a backend at initialisation; auto tries lower ranks first. A duplicate
// name panics.
func Register(rank int, b Backend) {
	registry.Lock()
	defer registry.Unlock()
	for _, r := range registry.all {
		if r.b.Name() == b.Name() {
			panic("backend: " + b.Name() + " registered twice")
		}
	}
	registry.all = append(registry.all, registration{rank, b})
	sort.SliceStable(registry.all, func(i, j int) bool { return registry.all[i].rank < registry.all[j].rank })
}

// All lists the registered backends in the order that auto tries them.
func All() []Backend {
	registry.Lock()
	defer registry.Unlock()
	bs := make([]Backend, len(registry.all))
	for i, r := range registry.all {
		bs[i] = r.b
	}
	return bs
}
