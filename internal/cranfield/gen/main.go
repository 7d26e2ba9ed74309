// Command gen compresses the raw files of the collection and the encoder for
// embedding, after verifying their hashes.
//
//	gen OUT_DIR [RAW_DIR…]
//
// Each raw file is taken from the first RAW_DIR that has it, and without any from
// the embedded data, which shows that the compressed files can be made again.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/likbench/likbench/internal/cranfield"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: gen OUT_DIR [RAW_DIR...]")
		os.Exit(2)
	}
	for _, s := range cranfield.Sources {
		if err := pack(os.Args[1], os.Args[2:], s.Name); err != nil {
			fmt.Fprintln(os.Stderr, "gen:", err)
			os.Exit(1)
		}
	}
}

func pack(out string, dirs []string, name string) error {
	raw, err := find(dirs, name)
	if err != nil {
		return err
	}
	if err := cranfield.Verify(name, raw); err != nil {
		return err
	}
	packed, err := cranfield.Pack(raw)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, name+".gz"), packed, 0o666)
}

func find(dirs []string, name string) ([]byte, error) {
	if len(dirs) == 0 {
		return cranfield.Raw(name)
	}
	for _, dir := range dirs {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if !errors.Is(err, fs.ErrNotExist) {
			return raw, err
		}
	}
	return nil, fmt.Errorf("%s is in none of %q", name, dirs)
}
