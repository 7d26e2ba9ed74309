package cuda_test

import (
	"fmt"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/cuda"
	"github.com/likbench/likbench/cuda/driver"
	"github.com/likbench/likbench/cuda/driver/fake"
)

// The driver here is the one of the tests, in Go memory; without WithDriver it is the library of the system.
func Example() {
	b := cuda.New(cuda.WithDriver(func() (driver.API, error) { return fake.New(fake.Hopper(0)), nil }))
	d, err := b.Open(0, backend.WithBudget(8<<30))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Info().Name, d.Info().Features)
	_, err = d.Alloc(9 << 30)
	fmt.Println(err)
	fmt.Println(d.Close())
	// Output:
	// Fake H200 [sm_80 sm_89 fp8 sm_90a]
	// cuda: alloc 9.0 GiB: over budget (live 0 B, budget 8.0 GiB of 128.0 GiB)
	// <nil>
}
