package format

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzMetadata(f *testing.F) {
	f.Add([]byte(`{"nbits": 4, "num_chunks": 1, "frozen": true}`))
	f.Add([]byte(`{"config": {"dim": 128, "nbits": 2}, "num_chunks": 1}`))
	f.Add([]byte(`{"chunks":{"0.codes.npy":{"rows":327,"mtime":1.5}},"padding_rows":9}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := parseObject("x", text)
		if err != nil {
			require.ErrorIs(t, err, ErrCorrupt)
			return
		}
		for _, name := range o.names() {
			_, _ = o.count(name)
			_, _ = o.flag(name)
			_, _ = o.child(name)
		}
		_, _ = parseManifest(o)
	})
}

func FuzzLengths(f *testing.F) {
	f.Add([]byte("[1,2,3]"))
	f.Add([]byte(" [ ]\n"))
	f.Add([]byte("[9223372036854775807]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		lengths, err := parseLengths("x", text, nil)
		if err != nil {
			require.ErrorIs(t, err, ErrCorrupt)
			return
		}
		for _, n := range lengths {
			require.GreaterOrEqual(t, n, int64(0))
		}
	})
}

func FuzzPickle(f *testing.F) {
	f.Add([]byte(pickleText([]torchPart{{dtype: "f2", shape: []int{3, 8}}})))
	f.Add([]byte(pickleText([]torchPart{{dtype: "i4", shape: []int{9}}, {dtype: "i8", shape: []int{70_000}}})))
	f.Add([]byte("\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R."))
	f.Fuzz(func(t *testing.T, text []byte) {
		v, at, err := unpickle(text)
		require.LessOrEqual(t, at, len(text))
		if err != nil {
			return
		}
		for _, item := range flatten(v) {
			if p, ok := item.(*pickled); ok {
				n := int64(1)
				for _, d := range p.shape {
					n *= int64(d)
				}
				require.LessOrEqual(t, p.offset+n, p.storage.n)
			}
		}
	})
}

func FuzzTorch(f *testing.F) {
	dir, _ := written(f, ColBERT)
	for _, name := range []string{"centroids.pt", "buckets.pt", "0.codes.pt"} {
		f.Add(get(f, dir, name))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		put(t, dir, "x.pt", text)
		p, err := openTorch(dir, "x.pt")
		if err != nil {
			var e *Error
			require.ErrorAs(t, err, &e)
			return
		}
		defer p.f.Close()
		for _, tensor := range p.tensors {
			// All of a tensor is inside the file.
			require.LessOrEqual(t, tensor.at+tensor.len()*int64(tensor.item()), p.size)
			if tensor.dtype[0] == 'f' {
				_, _ = tensor.floats()
			}
		}
		_ = p.verify()
	})
}

func FuzzSkim(f *testing.F) {
	f.Add([]byte("\x80\x04]\x94."))
	f.Add([]byte("cos\nsystem\n."))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "x")
		require.NoError(t, os.WriteFile(path, text, 0o666))
		p, err := openFile(filepath.Dir(path), "x")
		require.NoError(t, err)
		defer p.f.Close()
		if err := skim(p, 0); err != nil {
			require.ErrorIs(t, err, ErrCorrupt)
		}
	})
}
