package main

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nlpodyssey/safetensors"
	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/internal/npy"
)

func npzBytes(t testing.TB) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, n := range map[string]int{"tokens": 32, "offsets": 3} {
		w, err := z.Create(name + ".npy")
		require.NoError(t, err)
		dtype, shape := "f4", []int{2, 16}
		if name == "offsets" {
			dtype, shape = "i4", []int{3}
		}
		raw, err := npy.AppendHeader(nil, npy.NumPy, dtype, shape...)
		require.NoError(t, err)
		data := make([]byte, 4*n)
		if name == "offsets" {
			data[4], data[8] = 1, 2
		}
		_, err = w.Write(append(raw, data...))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return b.Bytes()
}

func TestNPZ(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npz")
	require.NoError(t, os.WriteFile(path, npzBytes(t), 0o644))
	in := inputFlags{what: "documents", vectors: path, scale: 1}
	got, err := in.open()
	require.NoError(t, err)
	require.Equal(t, []int64{0, 1, 2}, got.offsets)
	all, err := got.all()
	require.NoError(t, err)
	require.Equal(t, make([]float32, 32), all)
	in.vectorsName = "nosuch"
	_, err = in.open()
	require.ErrorContains(t, err, `no array "nosuch", only offsets, tokens`)
}

// TestNPZChecksum: a byte that changed inside a .npz file is found, at the end of the array.
func TestNPZChecksum(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.CreateHeader(&zip.FileHeader{Name: "vectors.npy", Method: zip.Store})
	require.NoError(t, err)
	raw, err := npy.AppendHeader(nil, npy.NumPy, "f4", 2, 16, 8)
	require.NoError(t, err)
	_, err = w.Write(append(raw, make([]byte, 1024)...))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	whole := b.Bytes()
	path := filepath.Join(t.TempDir(), "x.npz")
	for _, x := range []byte{0, 1} {
		whole[800] ^= x
		require.NoError(t, os.WriteFile(path, whole, 0o644))
		got, err := (&inputFlags{what: "documents", vectors: path, scale: 1}).open()
		require.NoError(t, err)
		_, err = got.all()
		if x == 0 {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, zip.ErrChecksum)
			require.ErrorContains(t, err, path)
		}
	}
}

// TestShapesBeyondTheFile: what a header promises is held against the file before anything is
// made of it.
func TestShapesBeyondTheFile(t *testing.T) {
	dir := t.TempDir()
	path, off := filepath.Join(dir, "x.npy"), filepath.Join(dir, "off.npy")
	for _, c := range []struct {
		shape   []int
		data    int
		offsets bool
		want    string
	}{
		{[]int{1 << 40, 0, 8}, 0, false, "1099511627776 entries without an element, at most 1048576"},
		{[]int{1 << 40, 1, 8}, 0, false, "ends after 0 bytes of data, 35184372088832 wanted for shape [1099511627776 1 8] of f4"},
		{[]int{1e12, 8}, 0, true, "ends after 0 bytes"},
		{[]int{2e9, 8}, 64, true, "ends after 64 bytes"},
		{[]int{288230376151711743, 8}, 0, true, "ends after 0 bytes"},
		{[]int{2, 8}, 63, true, "ends after 63 bytes"},
		{[]int{2, 8}, 65, true, "goes on after 16 elements of shape [2 8]"},
	} {
		raw, err := npy.AppendHeader(nil, npy.NumPy, "f4", c.shape...)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, append(raw, make([]byte, c.data)...), 0o644))
		args := []string{"plaid", "build", filepath.Join(dir, "index"), "--backend", "simd", "--vectors", path}
		if c.offsets {
			args = append(args, "--offsets", writeNPY(t, off, "i8", backend.I64, []float64{0, float64(c.shape[0])}, 2))
		}
		code, _, stderr := call(t, args...)
		require.Equal(t, exitFailure, code)
		require.Contains(t, stderr, path)
		require.Contains(t, stderr, c.want)
		require.NoDirExists(t, filepath.Join(dir, "index"))
	}
	_, err := openArray(dir+string(filepath.Separator)+"folder.npy", "")
	require.Error(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder.npy"), 0o755))
	_, err = openArray(filepath.Join(dir, "folder.npy"), "")
	require.ErrorContains(t, err, "want a regular file")
	header := `{"x":{"dtype":"F32","shape":[1099511627776,8],"data_offsets":[0,35184372088832]}}`
	path = filepath.Join(dir, "x.safetensors")
	require.NoError(t, os.WriteFile(path, append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header...), 0o644))
	_, err = openArray(path, "")
	require.ErrorContains(t, err, "data to byte 35184372088921, the file has 89")
}

// TestOffsetsAsPairs: where each document begins and ends is no list of offsets, though it ascends.
func TestOffsetsAsPairs(t *testing.T) {
	dir := t.TempDir()
	off := writeNPY(t, filepath.Join(dir, "off.npy"), "i8", backend.I64, []float64{0, 2, 2, 6}, 2, 2)
	in := inputFlags{what: "documents", vectors: writeNPY(t, filepath.Join(dir, "x.npy"), "f4", backend.F32, make([]float64, 48), 6, 8), offsets: off, scale: 1}
	_, err := in.open()
	require.ErrorContains(t, err, off+": shape [2 2], want one offset more than there are documents")
}

// TestNPZTwice: of two members of a name programs take one or the other.
func TestNPZTwice(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for range 2 {
		w, err := z.Create("vectors.npy")
		require.NoError(t, err)
		raw, err := npy.AppendHeader(nil, npy.NumPy, "f4", 1, 1, 8)
		require.NoError(t, err)
		_, err = w.Write(append(raw, make([]byte, 32)...))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	path := filepath.Join(t.TempDir(), "x.npz")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
	_, err := openArray(path, "", "vectors")
	require.ErrorContains(t, err, path+": two members vectors.npy")
}

// TestTensorTwice: the format forbids two tensors of a name, and decoders take the last.
func TestTensorTwice(t *testing.T) {
	const tensor = `"x":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}`
	path := filepath.Join(t.TempDir(), "x.safetensors")
	for header, want := range map[string]string{
		"{" + tensor + "}": "",
		"{" + tensor + "," + strings.Replace(tensor, "[1,2]", "[2,1]", 1) + "}": path + `: two tensors "x"`,
	} {
		require.NoError(t, os.WriteFile(path, append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header+"12345678"...), 0o644))
		_, err := openArray(path, "")
		if want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, want)
		}
	}
}

// TestScale: a factor that float32 makes 0 or infinite is refused.
func TestScale(t *testing.T) {
	dir := t.TempDir()
	files := vectorFiles(t, dir, "docs", 6, 3)
	for _, scale := range []string{"0", "1e-50", "-1e-46", "1e39", "-1e300", "nan", "inf"} {
		code, _, stderr := call(t, with([]string{"plaid", "build", filepath.Join(dir, "index"), "--scale", scale}, files...)...)
		require.Equal(t, exitUsage, code, scale)
		require.Contains(t, stderr, "want a number other than 0 that float32 holds")
	}
}

// FuzzArray: whatever a file of vectors holds, it is read or refused.
func FuzzArray(f *testing.F) {
	raw, err := safetensors.Serialize(map[string]safetensors.TensorView{}, nil)
	require.NoError(f, err)
	f.Add(raw, uint8(0))
	f.Add([]byte("\x3b\x00\x00\x00\x00\x00\x00\x00"+`{"x":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}    12345678`), uint8(0))
	f.Add(npzBytes(f), uint8(1))
	header, err := npy.AppendHeader(nil, npy.NumPy, "f4", 1, 2)
	require.NoError(f, err)
	f.Add(append(header, make([]byte, 8)...), uint8(2))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, raw []byte, kind uint8) {
		path := filepath.Join(dir, "x"+[]string{".safetensors", ".npz", ".npy"}[kind%3])
		require.NoError(t, os.WriteFile(path, raw, 0o644))
		in := inputFlags{what: "documents", vectors: path, scale: 1}
		got, err := in.open()
		if err != nil {
			return
		}
		_, _ = got.all()
	})
}
