package format

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/internal/golden"
	"github.com/likbench/likbench/internal/npy"
)

func TestConcurrentReaders(t *testing.T) {
	for _, flavour := range writable {
		dir, m := written(t, flavour)
		x := opened(t, dir)
		var group sync.WaitGroup
		failed := make(chan error, 8)
		for range cap(failed) {
			group.Go(func() {
				codes, row := make([]int32, 1), make([]byte, x.RowBytes())
				for token := range x.Tokens() {
					err := errors.Join(x.ReadCodes(codes, token), x.ReadResiduals(row, token))
					if err == nil && (codes[0] != m.TokenCodes[token] || string(row) != string(m.Residuals[token*8:token*8+8])) {
						err = errors.New("other values")
					}
					if err != nil {
						failed <- err
						return
					}
				}
			})
		}
		group.Wait()
		require.Empty(t, failed)
	}
}

// TestTwoWriters: the second one fails at once, and the lock of a dead one is none.
func TestTwoWriters(t *testing.T) {
	m := sample(1, 8, 2, 3, 2)
	dir := filepath.Join(t.TempDir(), "index")
	second := func() error {
		_, err := save(dir, NextPlaid, m, WriteOptions{})
		return err
	}
	var met error
	_, err := write(dir, ColBERT, m, WriteOptions{}, func(op, path string) error {
		if op == "sync" && met == nil {
			met = second()
		}
		return nil
	})
	require.NoError(t, err)
	require.ErrorIs(t, met, ErrLocked)
	require.ErrorContains(t, met, "process ")
	require.ErrorIs(t, second(), ErrExists)
	require.NoFileExists(t, filepath.Join(dir, lockName))

	dir = t.TempDir()
	put(t, dir, lockName, []byte("1234567\n"))
	require.NoError(t, second())
	require.NoFileExists(t, filepath.Join(dir, lockName))
}

// TestReplacedWhileOpened: an index that is replaced meanwhile is opened again; one that is
// replaced each time is an error.
func TestReplacedWhileOpened(t *testing.T) {
	dir, _ := written(t, FastPlaid14)
	other := sample(2, 8, 1, 2, 4)
	next := filepath.Join(t.TempDir(), "next")
	_, err := save(next, FastPlaid14, other, WriteOptions{})
	require.NoError(t, err)
	times := 0
	x, err := open(dir, false, func() {
		if times++; times == 1 {
			for name, text := range snapshot(t, next) {
				put(t, dir, name, []byte(text))
			}
		}
	})
	require.NoError(t, err)
	require.Equal(t, 2, times)
	requireSame(t, other, x)
	require.NoError(t, x.Close())
	_, err = open(dir, false, func() {
		times++
		setKeys(t, dir, map[string]any{"num_partitions": times})
	})
	require.ErrorIs(t, err, ErrChanged)
	require.ErrorContains(t, err, "metadata.json: replaced 3 times while the index was opened")
}

// TestDatabaseGoesAlong with a conversion, byte for byte.
func TestDatabaseGoesAlong(t *testing.T) {
	source := filepath.Join(golden.Root(t), "plaid-index", "fp17_metadata_frozen.index")
	x := opened(t, source)
	for flavour, along := range map[Flavour]bool{FastPlaid14: true, NextPlaid: true, ColBERT: false} {
		dir := filepath.Join(t.TempDir(), "index")
		_, err := save(dir, flavour, x, WriteOptions{})
		require.NoError(t, err)
		if along {
			require.Equal(t, get(t, source, "metadata.db"), get(t, dir, "metadata.db"))
		} else {
			require.NoFileExists(t, filepath.Join(dir, "metadata.db"))
		}
	}
	dir := duplicate(t, source)
	put(t, dir, "metadata.db-wal", []byte("x"))
	require.ErrorContains(t, opened(t, dir).Warnings()[0], "its write-ahead log of 1 bytes is not read")
}

// sparse makes an index of any number of tokens whose payload takes no room on the disk:
// codes and residuals are zeros.
func sparse(t testing.TB, tokens int64, dim, bits, k int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sparse")
	m := sample(3, dim, bits, k, 1)
	_, err := save(dir, FastPlaid14, m, WriteOptions{})
	require.NoError(t, err)
	row := int64(dim * bits / 8)
	for name, width := range map[string]int64{"0.codes.npy": 8, "0.residuals.npy": row} {
		shape := []int{int(tokens)}
		dtype := "i8"
		if width == row && name == "0.residuals.npy" {
			dtype, shape = "u1", append(shape, int(row))
		}
		put(t, dir, name, array(t, npy.NumPy, dtype, nil, shape...))
		require.NoError(t, os.Truncate(filepath.Join(dir, name), 128+tokens*width))
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "ivf.npy")))
	require.NoError(t, os.Remove(filepath.Join(dir, "ivf_lengths.npy")))
	return dir
}

// TestBeyond32Bits: more than 2³¹ tokens, more than 2¹⁶ centroids.
func TestBeyond32Bits(t *testing.T) {
	const tokens = 1<<31 + 77
	dir := sparse(t, tokens, 8, 1, 70_000)
	put(t, dir, "doclens.0.json", []byte("[2147483648,77]"))
	patch8 := func(name string, at int64, with []byte) {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteAt(with, at)
		require.NoError(t, errors.Join(err, f.Close()))
	}
	patch8("0.codes.npy", 128+8*(tokens-1), binary.LittleEndian.AppendUint64(nil, 69_999))
	patch8("0.residuals.npy", 128+tokens-1, []byte{0xa5})
	x := opened(t, dir)
	require.Equal(t, int64(tokens), x.Tokens())
	require.Equal(t, []int64{0, 1 << 31, tokens}, x.Offsets())
	codes, rows := make([]int32, 3), make([]byte, 3)
	require.NoError(t, x.ReadCodes(codes, tokens-3))
	require.NoError(t, x.ReadResiduals(rows, tokens-3))
	require.Equal(t, []int32{0, 0, 69_999}, codes)
	require.Equal(t, []byte{0, 0, 0xa5}, rows)
}

// BenchmarkOpen opens an index of 10 million tokens in 80,000 documents and reads one.
func BenchmarkOpen(b *testing.B) {
	dir := sparse(b, 10_000_000, 128, 2, 32_768)
	text := []byte{'['}
	for range 79_999 {
		text = append(text, "125,"...)
	}
	put(b, dir, "doclens.0.json", append(text, "125]"...))
	codes, rows := make([]int32, 125), make([]byte, 125*32)
	for b.Loop() {
		x, err := Open(dir)
		require.NoError(b, err)
		require.NoError(b, x.ReadCodes(codes, 5_000_000))
		require.NoError(b, x.ReadResiduals(rows, 5_000_000))
		require.NoError(b, x.Close())
	}
}
