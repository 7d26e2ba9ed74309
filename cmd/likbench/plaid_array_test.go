package main

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
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
		if n := got.offsets[len(got.offsets)-1] * int64(got.dim) * backend.F32.Size(); n > 1<<24 {
			return // a header may promise more than the file holds, which shows when it is read
		}
		_, _ = got.all()
	})
}
