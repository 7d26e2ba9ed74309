package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// scenario is a change of an index that is stopped at each of its steps.
type scenario struct {
	name  string
	setup func(t testing.TB, dir string) // nil starts without a folder
	run   func(dir string, d disk) error
}

var crashCodec = halved(sampleCodec(3, 8, 2, 3))

// session opens a writer, uses and closes it.
func session(dir string, d disk, use func(w *Writer) error) error {
	w, err := openWriter(dir, d, nil)
	if err != nil {
		return err
	}
	if err = use(w); err == nil {
		err = promised(w, d)
	}
	return errors.Join(err, w.Close())
}

// promised commits, and tells the disk what was promised by that.
func promised(w *Writer, d disk) error {
	_, err := w.Commit()
	if f, ok := d.(*faulty); ok && err == nil {
		f.promised = true
	}
	return err
}

func crashBlock(seed uint64) Block { return sampleBlock(seed, crashCodec, 2, 0, 5) }

// populate makes an index of three commits with two files of lists.
func populate(t testing.TB, dir string) {
	w, err := create(dir, crashCodec, Options{BlockBytes: 64}, quick{})
	require.NoError(t, err)
	for i := range uint64(3) {
		b := crashBlock(i)
		if i == 0 {
			b = sampleBlock(9, crashCodec, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 1, 1, 1, 1, 1, 1)
		}
		require.NoError(t, w.Append(b))
		_, err = w.Commit()
		require.NoError(t, err)
	}
	require.Len(t, w.base.segments(), 2)
	require.NoError(t, w.Close())
}

// mark deletes documents of an index.
func mark(t testing.TB, dir string, ids ...int64) {
	require.NoError(t, session(dir, quick{}, func(w *Writer) error { return w.Delete(ids) }))
}

// mergeSources are made by TestCrash.
var mergeSources []string

var scenarios = []scenario{
	{"create", nil, func(dir string, d disk) error {
		w, err := create(dir, crashCodec, Options{BlockBytes: 64}, d)
		if err != nil {
			return err
		}
		if err = w.Append(crashBlock(1)); err == nil {
			err = promised(w, d)
		}
		return errors.Join(err, w.Close())
	}},
	{"merge", nil, func(dir string, d disk) error {
		_, err := merge(dir, mergeSources, d)
		return err
	}},
	{"append", populate, func(dir string, d disk) error {
		return session(dir, d, func(w *Writer) error { return errors.Join(w.Append(crashBlock(4)), w.Append(crashBlock(5))) })
	}},
	{"delete", populate, func(dir string, d disk) error {
		return session(dir, d, func(w *Writer) error { return w.Delete([]int64{1, 7}) })
	}},
	{"delete and append", func(t testing.TB, dir string) { populate(t, dir); mark(t, dir, 2) }, func(dir string, d disk) error {
		return session(dir, d, func(w *Writer) error { return errors.Join(w.Append(crashBlock(4)), w.Delete([]int64{16, 0})) })
	}},
	{"compact", func(t testing.TB, dir string) { populate(t, dir); mark(t, dir, 0, 3, 4) }, func(dir string, d disk) error {
		_, err := compact(dir, d)
		return err
	}},
	{"compact lists", populate, func(dir string, d disk) error {
		_, err := compact(dir, d)
		return err
	}},
	{"repair", func(t testing.TB, dir string) {
		populate(t, dir)
		for _, k := range []kind{fileLists, fileInvNorms} {
			flip(t, dir, k, 3)
		}
	}, func(dir string, d disk) error {
		_, err := repair(dir, d)
		return err
	}},
	{"leftovers", func(t testing.TB, dir string) {
		populate(t, dir)
		m, err := newest(dir)
		require.NoError(t, err)
		for _, k := range grown {
			f, err := os.OpenFile(filepath.Join(dir, m.file(k).name()), os.O_APPEND|os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = f.WriteString("tail")
			require.NoError(t, errors.Join(err, f.Close()))
		}
		for _, name := range []string{temporary, manifestName(1), "lists-99.bin", "codes-99.bin"} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("left"), 0o666))
		}
	}, func(dir string, d disk) error {
		return session(dir, d, func(w *Writer) error { return w.Append(crashBlock(8)) })
	}},
}

// flip changes one byte of the first file of a kind.
func flip(t testing.TB, dir string, k kind, at int) {
	m, err := newest(dir)
	require.NoError(t, err)
	flipFile(t, filepath.Join(dir, m.file(k).name()), at)
}

func flipFile(t testing.TB, path string, at int) {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	text[at] ^= 0x41
	require.NoError(t, os.WriteFile(path, text, 0o666))
}

// found is what a folder holds; ok is false where it is no index.
func found(t testing.TB, dir string) (s state, ok bool) {
	snapshot, err := Open(dir)
	if errors.Is(err, ErrNoIndex) {
		return state{}, false
	}
	require.NoError(t, err)
	defer func() { require.NoError(t, snapshot.Close()) }()
	return stateOf(t, snapshot), true
}

// requireNext shows that the next writer works and leaves nothing behind.
func requireNext(t testing.TB, dir string, before state, ok bool) {
	b := crashBlock(77)
	if !ok {
		w, err := create(dir, crashCodec, Options{BlockBytes: 64}, quick{})
		require.NoError(t, err)
		require.NoError(t, w.Append(b))
		_, err = w.Commit()
		require.NoError(t, err)
		require.NoError(t, w.Close())
	} else {
		require.NoError(t, session(dir, quick{}, func(w *Writer) error { return w.Append(b) }))
	}
	after := stateAt(t, dir)
	require.Len(t, after.Documents, len(before.Documents)+len(b.Lens))
	after.Documents = after.Documents[:len(before.Documents)]
	before.NextID, before.Centroids = after.NextID, after.Centroids
	require.True(t, equalState(before, after))
	report, err := Check(dir)
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	require.Empty(t, report.Leftovers)
	m, err := newest(dir)
	require.NoError(t, err)
	require.Len(t, contents(t, dir), len(m.files)+1)
}

// requireOutcome checks what a scenario left that met its fate.
func requireOutcome(t testing.TB, dir string, d *faulty, err error, states [2]state, exists bool) (got state, ok bool) {
	got, ok = found(t, dir)
	isOld, isNew := ok == exists && (!ok || equalState(got, states[0])), ok && equalState(got, states[1])
	require.True(t, isOld || isNew, "neither old nor new")
	require.True(t, isNew || !d.promised, "the generation that was committed is gone")
	switch {
	case d.fate.ends():
	case err == nil, errors.Is(err, ErrNotDurable):
		require.True(t, isNew, "no error, and not new: %v", err)
	case !isOld:
		// The commit was complete; what failed is the tidying of Close.
		require.Contains(t, []string{"remove", "truncate"}, d.op)
	}
	if d.fate == failing || d.fate == full {
		if err != nil {
			require.True(t, errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ENOSPC), "%v", err)
		}
	}
	if ok {
		report, err := Check(dir)
		require.NoError(t, err)
		require.Empty(t, report.Problems)
	}
	return got, ok
}

func equalState(a, b state) bool {
	return a.NextID == b.NextID && slices.Equal(a.Centroids, b.Centroids) && slices.EqualFunc(a.Documents, b.Documents, func(a, b document) bool {
		return a.ID == b.ID && a.Deleted == b.Deleted && slices.Equal(a.Codes, b.Codes) &&
			slices.Equal(a.Residuals, b.Residuals) && slices.Equal(a.InvNorms, b.InvNorms)
	})
}

// memoryDir is a folder in memory where the system has one: a disk that others use would
// make thousands of small files take long.
func memoryDir(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "store")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

func TestCrash(t *testing.T) {
	mergeSources = []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")}
	for _, dir := range mergeSources {
		populate(t, dir)
		mark(t, dir, 2, 3)
	}
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			dir := filepath.Join(memoryDir(t), "index")
			if s.setup != nil {
				s.setup(t, dir)
			}
			before := contents(t, dir)
			var states [2]state
			exists := false
			if s.name != "repair" { // whose old state cannot be read
				states[0], exists = found(t, dir)
			} else {
				exists = true
			}
			require.NoError(t, s.run(dir, quick{}))
			states[1], _ = found(t, dir)
			if s.name == "repair" {
				states[0] = states[1]
			}
			for f := range fates {
				steps := stopEverywhere(t, s, dir, f, before, states, exists)
				require.Greater(t, steps, 5)
			}
		})
	}
}

// stopEverywhere runs a scenario again and again, with the fate one step later each time.
func stopEverywhere(t *testing.T, s scenario, dir string, f fate, before map[string]string, states [2]state, exists bool) int {
	for at := 1; ; at++ {
		restore(t, dir, before)
		d := newFaulty(t, dir, f, at)
		err := s.run(dir, d)
		label := fmt.Sprintf("%v at step %d (%s): %v", f, at, d.op, err)
		t.Log(label) // shown where something fails
		if !d.failed {
			require.NoError(t, err)
			requireKept(t, dir, d, states[1])
			return at
		}
		losses := d.losses()
		if losses == nil { // the machine goes on
			requireSound(t, s, dir, d, err, states, exists, true)
		}
		for i, names := range losses {
			d.lose(t, names)
			requireSound(t, s, dir, d, err, states, exists, i == at%len(losses))
		}
	}
}

// requireSound checks what a stopped scenario has left, and, if asked, that the next writer
// works.
func requireSound(t *testing.T, s scenario, dir string, d *faulty, err error, states [2]state, exists, next bool) {
	if s.name == "repair" {
		requireRepaired(t, dir, d, err)
		return
	}
	got, ok := requireOutcome(t, dir, d, err, states, exists)
	if next {
		requireNext(t, dir, got, ok)
	}
}

// requireKept: power that is lost after the last step takes nothing that was committed.
func requireKept(t testing.TB, dir string, d *faulty, want state) {
	losses := d.losses()
	require.NotEmpty(t, losses)
	for _, names := range losses {
		d.lose(t, names)
		got, ok := found(t, dir)
		require.True(t, ok && equalState(got, want), "what was committed is gone")
		report, err := Check(dir)
		require.NoError(t, err)
		require.Empty(t, report.Problems)
	}
}

// requireRepaired shows that a stopped repair can be done again.
func requireRepaired(t testing.TB, dir string, d *faulty, err error) {
	report, checked := Check(dir)
	require.NoError(t, checked)
	require.True(t, report.Repairable())
	if err == nil {
		require.True(t, report.Clean())
	}
	_, err = repair(dir, quick{})
	require.NoError(t, err)
	requireNext(t, dir, stateAt(t, dir), true)
}
