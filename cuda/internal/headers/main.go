// Command headers writes the argument block of every declared kernel into cuda/src/args. Run it from the root of
// the repository: go run ./cuda/internal/headers
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/likbench/likbench/backend/kernel"
	_ "github.com/likbench/likbench/backend/kernels"
)

func main() {
	if err := write(filepath.Join("cuda", "src", "args")); err != nil {
		fmt.Fprintln(os.Stderr, "cuda/internal/headers:", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	for _, k := range kernel.All() {
		f := filepath.Join(dir, k.Name()+"_args.h")
		if err := os.WriteFile(f, []byte(kernel.Header(k, kernel.CUDA)), 0o644); err != nil {
			return err
		}
	}
	return nil
}
