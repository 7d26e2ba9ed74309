package metal_test

import (
	"fmt"

	"github.com/likbench/likbench/metal"
)

// What is compiled in can be listed on any machine.
func ExampleNew() {
	for _, b := range metal.New().Bindings() {
		if b.Kernel == "rbf_matmul_f32" || b.Kernel == "rbf_matmul_f64" {
			fmt.Printf("%s/%s: %s\n", b.Kernel, b.Variant, b.Note)
		}
	}
	// Output:
	// rbf_matmul_f32/tiled: 64 rows by 4 right-hand sides, two-float sums
	// rbf_matmul_f32/naive: a thread an output, two-float sums
	// rbf_matmul_f64/naive: never: MSL has no double type
}
