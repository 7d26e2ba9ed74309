package backend_test

import (
	"encoding/binary"
	"fmt"

	"github.com/likbench/likbench/backend"
	_ "github.com/likbench/likbench/backend/host" // or backend/all for every backend
	"github.com/likbench/likbench/backend/kernels"
)

// Open a device, put scores into its memory, and take the two largest.
func Example() {
	dev, decisions, err := backend.Select("host")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	fmt.Println(decisions[0].Chosen)

	s, err := dev.NewStream()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	mem, err := dev.Alloc(64)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer mem.Free()

	scores := []byte{0, 0, 0, 63, 0, 0, 64, 64, 0, 0, 128, 63} // .5, 3, 1 in f32, little-endian
	if err := s.Upload(mem, 0, scores); err != nil {
		fmt.Println(err)
		return
	}
	args := kernels.TopKArgs{
		Score: backend.NewView(mem, 0, backend.F32, 1, 3),
		Value: backend.NewView(mem, 16, backend.F32, 1, 2),
		Index: backend.NewView(mem, 32, backend.I32, 1, 2),
	}
	if err := kernels.TopK.Launch(s, &args); err != nil {
		fmt.Println(err)
		return
	}
	index := make([]byte, 8)
	if err := s.Download(index, mem, 32); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(binary.LittleEndian.Uint32(index), binary.LittleEndian.Uint32(index[4:]), s.Sync())
	// Output:
	// true
	// 1 2 <nil>
}
