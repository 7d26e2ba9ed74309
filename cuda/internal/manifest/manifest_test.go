package manifest

import (
	"encoding/binary"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

var tree = fstest.MapFS{
	"fam/x_naive.cu": {Data: []byte("// x: an example\n// targets: sm_80, sm_90a\n// flags: --maxrregcount=64\n// dynamic: x_f32_naive 1024\n\n" +
		"#include <cuda_bf16.h>\n#include \"part.cuh\"\n  # include \"args/x_args.h\"\n// targets: ignored_below\nextern \"C\" __global__ void x_f32_naive();\n")},
	"fam/part.cuh":    {Data: []byte("#pragma once\n#include \"common/a.cuh\"\n#include \"../common/a.cuh\"\n")},
	"common/a.cuh":    {Data: []byte("#pragma once\n#include \"a.cuh\"\n")},
	"args/x_args.h":   {Data: []byte("struct x_args {\n  unsigned long long x; // in [n], 0 = absent\n  long long n;\n  double eps;\n  unsigned long long scratch, scratch_bytes;\n};\n")},
	"fam/y.cu":        {Data: []byte("#include \"nowhere.cuh\"\n")},
	"fam/z.cu":        {Data: []byte("#include \"../../out.cuh\"\n")},
	"fam/bad.cu":      {Data: []byte("// targets: avx2\n")},
	"fam/worse.cu":    {Data: []byte("// dynamic: entry\n")},
	"fam/args.cu":     {Data: []byte("struct q_args {\n  int n;\n};\n")},
	"fam/unused.cuh":  {Data: []byte("")},
	"fam/default.cu":  {Data: []byte("// default: nothing said\n")},
	"fam/notes/ab.md": {Data: []byte("")},
}

func TestReadSource(t *testing.T) {
	names, err := Sources(tree)
	require.NoError(t, err)
	require.Equal(t, []string{"fam/args.cu", "fam/bad.cu", "fam/default.cu", "fam/worse.cu", "fam/x_naive.cu", "fam/y.cu", "fam/z.cu"}, names)

	x, err := ReadSource(tree, "fam/x_naive.cu")
	require.NoError(t, err)
	require.Equal(t, []string{"sm_80", "sm_90a"}, x.Targets)
	require.Equal(t, []string{"--maxrregcount=64"}, x.Flags)
	require.Equal(t, map[string]int{"x_f32_naive": 1024}, x.Dynamic)
	require.Equal(t, []Struct{{Name: "x_args", Bytes: 40, Fields: []Field{{"x", 0}, {"n", 8}, {"eps", 16}, {"scratch", 24}, {"scratch_bytes", 32}}}}, x.Structs)

	d, err := ReadSource(tree, "fam/default.cu")
	require.NoError(t, err)
	require.Equal(t, DefaultTargets, d.Targets)

	for name, text := range map[string]string{
		"fam/y.cu":     `cuda: source fam/y.cu: include "nowhere.cuh": cuda: source: open nowhere.cuh: file does not exist`,
		"fam/z.cu":     `cuda: source fam/z.cu: include "../../out.cuh" leaves the source folder`,
		"fam/bad.cu":   `cuda: source fam/bad.cu: target "avx2"`,
		"fam/worse.cu": `cuda: source fam/worse.cu: dynamic wants an entry and bytes, got "entry"`,
		"fam/args.cu":  `cuda: fam/args.cu: struct q_args: "int n" is not an 8-byte word`,
	} {
		_, err := ReadSource(tree, name)
		require.EqualError(t, err, text)
	}
}

// TestHash covers everything included, and nothing else.
func TestHash(t *testing.T) {
	hash := func(change string) string {
		c := fstest.MapFS{}
		for n, f := range tree {
			c[n] = f
		}
		if change != "" {
			c[change] = &fstest.MapFile{Data: append([]byte("// changed\n"), c[change].Data...)}
		}
		x, err := ReadSource(c, "fam/x_naive.cu")
		require.NoError(t, err)
		return x.Hash
	}
	same := hash("")
	require.Equal(t, same, hash("fam/unused.cuh"))
	for _, n := range []string{"fam/x_naive.cu", "fam/part.cuh", "common/a.cuh", "args/x_args.h"} {
		require.NotEqual(t, same, hash(n), n)
	}
}

func TestManifest(t *testing.T) {
	z, err := Compress([]byte("cubin"))
	require.NoError(t, err)
	files := fstest.MapFS{"x.gz": {Data: z}, "cut.gz": {Data: z[:len(z)-6]}, "empty.gz": {}}
	m := &Manifest{Compiler: "c", Sources: []Source{{Name: "fam/x.cu", Hash: "h", Objects: []Object{
		{Target: "sm_80", File: "x.gz", SHA256: Sum([]byte("cubin")), Bytes: 5, Entries: []Entry{{Name: "e", Registers: 3, Params: []Param{{0, 72}}}}}}}}}
	data, err := m.Encode()
	require.NoError(t, err)
	again, err := Parse(data)
	require.NoError(t, err)
	require.Equal(t, m, again)
	_, err = Parse(data[:len(data)/2])
	require.ErrorContains(t, err, "cuda: MANIFEST.json: ")
	_, err = Parse([]byte(`{"compilers":""}`))
	require.ErrorContains(t, err, "unknown field")

	require.Nil(t, m.Source("fam"))
	o := m.Source("x").Object("sm_80")
	require.Nil(t, m.Source("x").Object("sm_90a"))
	require.Nil(t, o.Entry("f"))
	require.Equal(t, 3, o.Entry("e").Registers)
	raw, err := o.Read(files)
	require.NoError(t, err)
	require.Equal(t, "cubin", string(raw))
	for file, text := range map[string]string{"cut.gz": "unexpected EOF", "empty.gz": "0 bytes: EOF", "none.gz": "does not exist"} {
		c := *o
		c.File = file
		_, err := c.Read(files)
		require.ErrorContains(t, err, "cuda: object "+file)
		require.ErrorContains(t, err, text)
	}
	o.SHA256 = Sum(nil)
	_, err = o.Read(files)
	require.ErrorContains(t, err, "manifest says e3b0c44298fc")
}

// TestCubinEntries reads a log as the assembler writes it, and an ELF file made here with the two attributes of
// one entry: its parameters, in any order.
func TestCubinEntries(t *testing.T) {
	log := "ptxas info    : 0 bytes gmem\n" +
		"ptxas info    : Compiling entry function 'e' for 'sm_90a'\n" +
		"ptxas info    : Function properties for e\n" +
		"ptxas         .     16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n" +
		"ptxas info    : Used 40 registers, used 1 barriers, 16 bytes cumulative stack size, 2048 bytes smem\n"
	param := func(ordinal, offset, size int) []byte {
		b := []byte{4, 0x17, 12, 0}
		b = binary.LittleEndian.AppendUint32(b, 0)
		b = binary.LittleEndian.AppendUint16(b, uint16(ordinal))
		b = binary.LittleEndian.AppendUint16(b, uint16(offset))
		return binary.LittleEndian.AppendUint32(b, uint32(size)<<18|0x1f000)
	}
	info := append([]byte{3, 0x19, 0x50, 0}, append(param(1, 128, 128), param(0, 0, 72)...)...)
	got, err := CubinEntries(elfWith(".nv.info.e", info), log)
	require.NoError(t, err)
	require.Equal(t, []Entry{{Name: "e", Registers: 40, StaticShared: 2048, Stack: 16, SpillStores: 8, SpillLoads: 12,
		Params: []Param{{0, 72}, {128, 128}}}}, got)
	_, err = CubinEntries(elfWith(".nv.info.other", info), log)
	require.EqualError(t, err, "cuda: cubin has no .nv.info.e")
	_, err = CubinEntries(elfWith(".nv.info.e", info[:len(info)-1]), log)
	require.EqualError(t, err, "cuda: cubin .nv.info.e: attribute of 12 bytes in 15")
	_, err = CubinEntries([]byte("text"), log)
	require.ErrorContains(t, err, "cuda: cubin of 4 bytes")
	require.Equal(t, []Entry{{Name: "a"}, {Name: "b"}}, PTXEntries([]byte(".visible .entry b(\n.visible .entry a(\n.entry c(\n")))
}

// elfWith is the smallest ELF file with one section of that name, marked as a cubin is.
func elfWith(name string, data []byte) []byte {
	const header, section = 64, 64
	names := "\x00" + name + "\x00.shstrtab\x00"
	b := make([]byte, header+3*section)
	copy(b, "\x7fELF\x02\x01\x01\x33\x07")
	put := func(at int, v uint64, n int) {
		for i := range n {
			b[at+i] = byte(v >> (8 * i))
		}
	}
	put(16, 2, 2)
	put(18, 190, 2)
	put(20, 128, 4)
	put(40, header, 8)
	put(52, header, 2)
	put(58, section, 2)
	put(60, 3, 2)
	put(62, 2, 2)
	at := len(b)
	for i, s := range []struct {
		name, kind uint64
		data       string
	}{{1, 0x70000000, string(data)}, {uint64(2 + len(name)), 3, names}} {
		h := header + (i+1)*section
		put(h, s.name, 4)
		put(h+4, s.kind, 4)
		put(h+24, uint64(at), 8)
		put(h+32, uint64(len(s.data)), 8)
		at += len(s.data)
	}
	return append(append(b, data...), names...)
}
