package num_test

import (
	"fmt"

	"github.com/likbench/likbench/backend/num"
)

func Example() {
	fmt.Printf("%#04x\n", num.F16FromFloat64(1.0/3))
	fmt.Println(num.F8E4M3ToFloat32(num.F8E4M3FromFloat32(500)))

	raw := make([]byte, 3*num.BF16.Size())
	num.BF16.Encode64(raw, []float64{1, -2, 3.14159})
	back := make([]float64, 3)
	num.BF16.Decode64(back, raw)
	fmt.Println(back)
	// Output:
	// 0x3555
	// 448
	// [1 -2 3.140625]
}
