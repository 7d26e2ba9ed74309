package cuda

import (
	"embed"
	"io/fs"
	"strconv"
	"strings"
	"sync"

	"github.com/likbench/likbench/cuda/internal/manifest"
)

// embedded holds the compiled sources and their manifest; cuda/_gen writes both.
//
//go:embed objects
var embedded embed.FS

// objects is a folder of compiled sources.
type objects struct {
	files    fs.FS
	manifest func() (*manifest.Manifest, error)
}

// newObjects reads the manifest of a folder at first use.
func newObjects(files fs.FS) *objects {
	return &objects{files: files, manifest: sync.OnceValues(func() (*manifest.Manifest, error) {
		data, err := fs.ReadFile(files, manifest.FileName)
		if err != nil {
			return nil, err
		}
		return manifest.Parse(data)
	})}
}

var builtIn = sync.OnceValue(func() *objects {
	sub, err := fs.Sub(embedded, "objects")
	if err != nil {
		panic("cuda: embedded objects: " + err.Error()) // the path is a constant
	}
	return newObjects(sub)
})

// capability is a compute capability, such as 9.0.
type capability struct{ major, minor int }

// String writes it as the vendor does: "9.0".
func (c capability) String() string { return strconv.Itoa(c.major) + "." + strconv.Itoa(c.minor) }

func (c capability) number() int { return 10*c.major + c.minor }

// features are the words of Info.Features for a capability.
func (c capability) features() []string {
	var f []string
	if c.number() >= 80 {
		f = append(f, "sm_80")
	}
	if c.number() >= 89 {
		f = append(f, "sm_89", "fp8")
	}
	if c.number() == 90 {
		f = append(f, "sm_90a")
	}
	return f
}

// fit ranks how well an object for target suits the device; 0 is not at all. A cubin runs on its own major
// version from its minor upwards, one of kind "a" on exactly its capability, and PTX on everything newer, after
// the driver has compiled it.
func (c capability) fit(target string) int {
	kind, number, _ := strings.Cut(target, "_")
	exact := strings.HasSuffix(number, "a")
	n, err := strconv.Atoi(strings.TrimSuffix(number, "a"))
	if err != nil || n > c.number() {
		return 0
	}
	switch {
	case kind == "compute":
		return n
	case exact && n == c.number():
		return 3000 + n
	case !exact && n/10 == c.major:
		return 2000 + n
	}
	return 0
}

// waits says that kernels of an object for target can wait for the one in front.
func waits(target string) bool {
	_, number, _ := strings.Cut(target, "_")
	n, err := strconv.Atoi(strings.TrimSuffix(number, "a"))
	return err == nil && n >= 90
}

// best is the object of a source that suits the device best, or nil.
func (c capability) best(s *manifest.Source) *manifest.Object {
	var best *manifest.Object
	fit := 0
	for i := range s.Objects {
		if f := c.fit(s.Objects[i].Target); f > fit {
			best, fit = &s.Objects[i], f
		}
	}
	return best
}
