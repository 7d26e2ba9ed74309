package cuda

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/cuda/internal/manifest"
	"github.com/likbench/likbench/internal/testneed"
)

func readManifest(t *testing.T) *manifest.Manifest {
	m, err := builtIn().manifest()
	require.NoError(t, err)
	return m
}

// needSources skips where the tests run without the tree, as a test binary on another machine does.
func needSources(t *testing.T) {
	if _, err := os.Stat("src"); err != nil {
		t.Skip("the device sources are not here: " + err.Error())
	}
}

// TestObjectsFresh: every source is compiled, from its text as it stands, for the targets its header names, and
// every object reads back as the manifest records it. No compiler is needed.
func TestObjectsFresh(t *testing.T) {
	m := readManifest(t)
	for i := range m.Sources {
		for j := range m.Sources[i].Objects {
			_, err := m.Sources[i].Objects[j].Read(builtIn().files)
			require.NoError(t, err)
		}
	}
	needSources(t)
	src := os.DirFS("src")
	names, err := manifest.Sources(src)
	require.NoError(t, err)
	stems := map[string]bool{}
	for _, n := range names {
		text, err := manifest.ReadSource(src, n)
		require.NoError(t, err)
		s := m.Source((&manifest.Source{Name: n}).Stem())
		if s == nil {
			t.Errorf("%s is not compiled: run go run . in cuda/_gen", n)
			continue
		}
		require.Equal(t, n, s.Name, "two sources of one stem")
		if text.Hash != s.Hash {
			t.Errorf("%s has changed since it was compiled: run go run . -only %s in cuda/_gen", n, filepath.Base(n))
		}
		require.Equal(t, text.Structs, s.Arguments, n)
		require.Len(t, s.Objects, len(text.Targets), n)
		for _, target := range text.Targets {
			require.NotNil(t, s.Object(target), "%s for %s", n, target)
		}
		stems[s.Stem()] = true
	}
	require.Len(t, m.Sources, len(stems), "the manifest lists a source that is gone")
	files, err := filepath.Glob("objects/*.gz")
	require.NoError(t, err)
	n := 0
	for _, s := range m.Sources {
		n += len(s.Objects)
	}
	require.Len(t, files, n, "files in objects that the manifest does not list")
}

// TestHeadersFresh: the argument blocks are those of the declarations.
func TestHeadersFresh(t *testing.T) {
	needSources(t)
	want := map[string]bool{}
	for _, k := range kernel.All() {
		f := filepath.Join("src", "args", k.Name()+"_args.h")
		want[f] = true
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		require.Equal(t, kernel.Header(k, kernel.CUDA), string(text), "run go run ./cuda/internal/headers")
	}
	files, err := filepath.Glob("src/args/*")
	require.NoError(t, err)
	for _, f := range files {
		require.True(t, want[f], "%s belongs to no kernel", f)
	}
}

// TestBindingsFit: every binding finds its entries in objects for the devices it requires, with the argument block
// that the declaration has, the tensor maps it encodes, the dynamic shared memory it states, and no spills unless
// it gives a reason; and every entry belongs to a binding, or to a ceiling.
func TestBindingsFit(t *testing.T) {
	m := readManifest(t)
	used := map[string]bool{}
	for _, e := range append([]string{trafficEntry}, memoryEntries...) {
		used[e] = true
	}
	for _, l := range rateLoops {
		used[l.entry] = true
		require.NotNil(t, m.Source(l.source), l.entry)
	}
	for _, v := range variants() {
		s := m.Source(v.source)
		if s == nil {
			t.Errorf("%s/%s: source %s is not compiled", v.binding.Kernel, v.binding.Variant, v.source)
			continue
		}
		require.Equal(t, layout(v.kernel), argumentsOf(t, s, v.kernel.Name()+"_args"), v.source)
		for i := range v.stages {
			st := &v.stages[i]
			if st.clear != nil {
				continue
			}
			used[st.entry] = true
			for j := range s.Objects {
				fitEntry(t, v, st, &s.Objects[j])
			}
		}
	}
	for _, s := range m.Sources {
		for _, o := range s.Objects {
			for _, e := range o.Entries {
				if !used[e.Name] {
					t.Errorf("%s: entry %s belongs to no binding", o.File, e.Name)
				}
			}
		}
	}
}

func fitEntry(t *testing.T, v *variant, st *stage, o *manifest.Object) {
	e := o.Entry(st.entry)
	if e == nil {
		t.Errorf("object %s has no entry %s", o.File, st.entry)
		return
	}
	if e.DynamicShared != st.shared {
		t.Errorf("%s: the source states %d bytes of dynamic shared memory, the binding %d", e.Name, e.DynamicShared, st.shared)
	}
	if e.Registers == 0 {
		return // PTX
	}
	if n := e.SpillStores + e.SpillLoads; n > 0 && v.spills == "" {
		t.Errorf("%s spills %d bytes for %s: give the binding a reason or the kernel fewer registers", e.Name, n, o.Target)
	}
	// The block comes first; where maps lie is the compiler's, which aligns them in its constant bank.
	require.Len(t, e.Params, 1+len(st.maps), "parameters of %s for %s", e.Name, o.Target)
	require.Equal(t, manifest.Param{Offset: 0, Size: 8 * len(v.kernel.Members())}, e.Params[0], "%s for %s", e.Name, o.Target)
	for _, p := range e.Params[1:] {
		require.Equal(t, 128, p.Size, "a tensor map of %s for %s", e.Name, o.Target)
	}
}

// TestEarlyWaits: the code of a stage that starts early waits before it touches global memory.
func TestEarlyWaits(t *testing.T) {
	m := readManifest(t)
	for _, v := range variants() {
		for i := range v.stages {
			st := &v.stages[i]
			for _, o := range m.Source(v.source).Objects {
				if st.early && strings.HasPrefix(o.Target, "sm_") && waits(o.Target) {
					require.True(t, waitsFirst(codeOf(t, &o, st.entry)), "%s of %s", st.entry, o.File)
				}
			}
		}
	}
}

// waitsFirst looks, in instructions of 16 bytes whose lowest 12 bits say what they do, for ACQBULK, which is what
// griddepcontrol.wait becomes. In the lowest nine, in front of it, are no LD, LDG, ST, STG, RED, ATOMG or LDGSTS.
func waitsFirst(code []byte) bool {
	for ; len(code) >= 16; code = code[16:] {
		op := binary.LittleEndian.Uint16(code) & 0xfff
		switch op & 0x1ff {
		case 0x180, 0x181, 0x185, 0x186, 0x18e, 0x1a8, 0x1a9, 0x1ae:
			return false
		}
		if op == 0x82e {
			return true
		}
	}
	return false
}

// codeOf is the code of an entry of a cubin, an ELF file but for its version word.
func codeOf(t *testing.T, o *manifest.Object, entry string) []byte {
	b, err := o.Read(builtIn().files)
	require.NoError(t, err)
	b[20] = byte(elf.EV_CURRENT)
	f, err := elf.NewFile(bytes.NewReader(b))
	require.NoError(t, err)
	s := f.Section(".text." + entry)
	require.NotNil(t, s, entry)
	code, err := s.Data()
	require.NoError(t, err)
	return code
}

// layout is the argument block of a declaration, as the host fills it.
func layout(k kernel.Info) manifest.Struct {
	s := manifest.Struct{Name: k.Name() + "_args"}
	for _, m := range k.Members() {
		s.Fields = append(s.Fields, manifest.Field{Name: m.Name, Offset: s.Bytes})
		s.Bytes += 8
	}
	return s
}

func argumentsOf(t *testing.T, s *manifest.Source, name string) manifest.Struct {
	for _, a := range s.Arguments {
		if a.Name == name {
			return a
		}
	}
	t.Errorf("%s does not include %s", s.Name, name)
	return manifest.Struct{}
}

// TestObjectsRebuild compiles again and compares bytes and facts. It needs the compiler that
// cuda/_gen/fetch.sh brings.
func TestObjectsRebuild(t *testing.T) {
	needSources(t)
	wheel := filepath.Join("..", "build", "cuda", "nvidia", "cuda_nvrtc")
	if _, err := os.Stat(wheel); err != nil {
		testneed.Skip(t, "nvrtc", "run cuda/_gen/fetch.sh: "+err.Error())
	}
	if testing.Short() && !testneed.Has("nvrtc") {
		t.Skip("compiling takes a while")
	}
	args := []string{"run", ".", "-check"}
	if !testneed.Has("nvrtc") {
		args = append(args, "-only", "ceiling*") // everything takes minutes: only where the compiler is promised
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = "_gen"
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
