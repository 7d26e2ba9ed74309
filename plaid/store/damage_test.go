package store

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// small is an index with something in every file, of few bytes.
func small(t testing.TB) string {
	c := sampleCodec(4, 8, 2, 3)
	dir := made(t, c, sampleBlock(1, c, 2, 0, 5, 1))
	mark(t, dir, 0, 2)
	return dir
}

// TestAnyByte flips each byte of each file: Check names that file, every time.
func TestAnyByte(t *testing.T) {
	dir := small(t)
	files := contents(t, dir)
	require.Len(t, files, 9)
	for name, text := range files {
		path := filepath.Join(dir, name)
		for at := range len(text) {
			changed := []byte(text)
			changed[at] ^= 1 << (at % 8)
			require.NoError(t, os.WriteFile(path, changed, 0o666))
			report, err := Check(dir)
			require.NoError(t, err)
			require.NotEmpty(t, report.Problems, "%s, byte %d", name, at)
			e := (*Error)(nil)
			require.ErrorAs(t, report.Problems[0].Err, &e)
			require.Equal(t, path, e.File, "byte %d", at)
			derivable := strings.HasPrefix(name, "lists") || strings.HasPrefix(name, "invnorms")
			require.Equal(t, derivable, report.Repairable(), "%s, byte %d", name, at)
			if _, isManifest := parseManifestName(name); isManifest {
				_, err = Open(dir)
				require.Error(t, err)
			}
		}
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	}
	report, err := Check(dir)
	require.NoError(t, err)
	require.True(t, report.Clean())
}

// TestFirstElement: what is wrong in a payload is named by its place in the array.
func TestFirstElement(t *testing.T) {
	dir := small(t)
	files := contents(t, dir)
	for _, c := range []struct {
		kind    kind
		at      int // byte
		element int64
		text    string
	}{
		{fileCodes, 4*3 + 3, 3, "code"}, {fileOffsets, 8*2 + 7, 2, "offset"}, {fileIDs, 8*1 + 7, 1, "id"},
		{fileInvNorms, 4 * 6, 6, "inverse norm"}, {fileLists, 8 * 2, 2, "list offset"}, {fileTombstones, 3, 0, "beyond 4 documents"},
	} {
		flip(t, dir, c.kind, c.at)
		report, err := Check(dir)
		require.NoError(t, err)
		found := false
		for _, p := range report.Problems {
			e := (*Error)(nil)
			found = found || errors.As(p.Err, &e) && e.Element == c.element && strings.Contains(e.Error(), c.text)
		}
		require.True(t, found, "%v: %v", c.kind, report.Problems)
		restore(t, dir, files)
	}
}

// TestCutShort cuts each file at each length: opening fails and names it.
func TestCutShort(t *testing.T) {
	dir := small(t)
	for name, text := range contents(t, dir) {
		path := filepath.Join(dir, name)
		for n := range len(text) {
			require.NoError(t, os.Truncate(path, int64(n)))
			for _, open := range []func() error{
				func() error { _, err := Open(dir); return err },
				func() error { _, err := OpenWriter(dir); return err },
			} {
				err, e := open(), (*Error)(nil)
				require.ErrorAs(t, err, &e)
				require.ErrorIs(t, err, ErrCorrupt, "%s cut to %d", name, n)
				require.Equal(t, path, e.File)
			}
			require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
		}
		require.NoError(t, os.Remove(path))
		_, err := Open(dir)
		if _, isManifest := parseManifestName(name); isManifest {
			require.ErrorIs(t, err, ErrNoIndex)
		} else {
			require.ErrorIs(t, err, ErrMissing)
			report, err := Check(dir)
			require.NoError(t, err)
			require.ErrorIs(t, report.Problems[0].Err, ErrMissing)
		}
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	}
}

func TestRepair(t *testing.T) {
	c := sampleCodec(4, 8, 2, 3)
	dir := made(t, c, sampleBlock(1, c, 2, 0, 5, 1))
	mark(t, dir, 1)
	want := stateAt(t, dir)
	before := contents(t, dir)
	for _, kinds := range [][]kind{{fileLists}, {fileInvNorms}, {fileLists, fileInvNorms}, nil} {
		for _, k := range kinds {
			flip(t, dir, k, 0)
		}
		report, err := repair(dir, quick{})
		require.NoError(t, err)
		require.Equal(t, kinds == nil, report.Clean())
		require.True(t, report.Repairable())
		require.True(t, equalState(want, stateAt(t, dir)))
		after, err := Check(dir)
		require.NoError(t, err)
		require.Empty(t, after.Problems)
	}
	for _, k := range []kind{fileLists, fileInvNorms} { // gone altogether
		m, err := newest(dir)
		require.NoError(t, err)
		require.NoError(t, os.Remove(filepath.Join(dir, m.file(k).name())))
		_, err = repair(dir, quick{})
		require.NoError(t, err)
		require.True(t, equalState(want, stateAt(t, dir)))
	}
	restore(t, dir, before)
	flip(t, dir, fileLists, 0)
	flip(t, dir, fileResiduals, 1)
	damaged := contents(t, dir)
	_, err := repair(dir, quick{})
	e := (*Error)(nil)
	require.ErrorAs(t, err, &e)
	require.Contains(t, e.File, "residuals")
	require.Equal(t, damaged, contents(t, dir))
}

// signed makes a changed manifest one that a writer could have written.
func signed(text []byte) []byte {
	if len(text) < headerBytes+4 {
		return text
	}
	binary.LittleEndian.PutUint64(text[16:], uint64(len(text)))
	binary.LittleEndian.PutUint32(text[len(text)-4:], crc32.Checksum(text[:len(text)-4], castagnoli))
	return text
}

// TestHostileManifests: every word of a manifest in turn, with a checksum that fits.
func TestHostileManifests(t *testing.T) {
	dir := small(t)
	m, err := newest(dir)
	require.NoError(t, err)
	path := filepath.Join(dir, manifestName(m.generation))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for at := 0; at+8 <= len(text)-4; at += 4 {
		for _, v := range []uint64{0, 1, 1 << 31, 1 << 32, math.MaxInt64, math.MaxUint64, 0x7fc00000} {
			changed := append([]byte(nil), text...)
			binary.LittleEndian.PutUint64(changed[at:], v)
			require.NoError(t, os.WriteFile(path, signed(changed), 0o666))
			exercise(t, dir)
		}
	}
}

// exercise reads all that a folder offers, and expects errors of ours at most.
func exercise(t testing.TB, dir string) {
	s, err := Open(dir)
	if err != nil {
		require.True(t, isProblem(err), "%v", err)
		return
	}
	defer func() { require.NoError(t, s.Close()) }()
	_, documents := s.Lists()
	require.LessOrEqual(t, len(documents), 1000)
	codes := make([]int32, s.Tokens())
	if err := s.ReadCodes(codes, 0); err != nil {
		require.ErrorIs(t, err, ErrCorrupt)
	}
	if _, err := s.Compacted(); err != nil {
		require.ErrorIs(t, err, ErrCorrupt)
	}
	_, err = Check(dir)
	require.NoError(t, err)
}

func TestForeignAndFuture(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(dir)
	require.ErrorIs(t, err, ErrNoIndex)
	_, err = OpenWriter(dir)
	require.ErrorIs(t, err, ErrNoIndex)
	_, err = Open(filepath.Join(dir, "absent"))
	require.ErrorIs(t, err, ErrNoIndex)
	_, err = OpenWriter(filepath.Join(dir, "absent"))
	require.ErrorIs(t, err, ErrNoIndex)
	report, err := Check(dir)
	require.NoError(t, err)
	require.ErrorIs(t, report.Problems[0].Err, ErrNoIndex)

	dir = small(t)
	m, err := newest(dir)
	require.NoError(t, err)
	path := filepath.Join(dir, manifestName(m.generation))
	text := m.encode()
	for _, c := range []struct {
		at   int
		kind error
		want string
	}{{0, ErrCorrupt, "byte 0"}, {8, ErrUnsupported, "version"}, {16, ErrCorrupt, "byte 16"}, {30, ErrCorrupt, "checksum"}} {
		changed := append([]byte(nil), text...)
		changed[c.at] ^= 0xff
		require.NoError(t, os.WriteFile(path, changed, 0o666))
		_, err = Open(dir)
		require.ErrorIs(t, err, c.kind)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, path)
	}
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o777))
	_, err = Open(dir)
	require.ErrorIs(t, err, ErrCorrupt)
}

// TestCutWhileMapped: whoever cuts a mapped file gets an error from Guard, not an end of the
// process, and other indexes go on.
func TestCutWhileMapped(t *testing.T) {
	c := sampleCodec(4, 8, 8, 3)
	lens := make([]int64, 20)
	for i := range lens {
		lens[i] = 1000
	}
	dir := made(t, c, sampleBlock(1, c, lens...))
	s, err := Open(dir)
	require.NoError(t, err)
	sum := func() error {
		n := 0
		for _, b := range s.Residuals() {
			n += int(b)
		}
		require.NotZero(t, n)
		return nil
	}
	require.NoError(t, s.Guard(sum))
	path := s.path(fileResiduals)
	require.NoError(t, os.Truncate(path, 80_000))
	err = s.Guard(sum)
	if err == nil {
		t.Skip("this system keeps the pages of a file that is cut short")
	}
	e := (*Error)(nil)
	require.ErrorAs(t, err, &e)
	require.ErrorIs(t, err, ErrChanged)
	require.Equal(t, path, e.File)
	require.GreaterOrEqual(t, e.Byte, int64(80_000))
	require.ErrorIs(t, s.ReadResiduals(make([]byte, len(s.Residuals())), 0), ErrChanged)
	require.NoError(t, os.Truncate(s.path(fileCodes), 0))
	require.ErrorIs(t, s.ReadCodes(make([]int32, 10), 0), ErrChanged)
	require.PanicsWithValue(t, "other", func() { _ = s.Guard(func() error { panic("other") }) })
	require.NoError(t, s.Close())
}

// TestDanglingManifest: a manifest that is listed and leads nowhere is an error, not waited for.
func TestDanglingManifest(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, manifestName(3))
	if err := os.Symlink(filepath.Join(dir, "nosuch"), path); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	_, err := Open(dir)
	require.ErrorIs(t, err, ErrMissing)
	require.ErrorContains(t, err, path)
	require.NotContains(t, err.Error(), "\n")
	_, err = OpenWriter(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, ErrNoIndex)
	require.NotContains(t, err.Error(), "\n")
}

// TestLinkedFiles: an index of linked files is read; a writer, which cuts files to its own
// generation, would take from the index that they belong to.
func TestLinkedFiles(t *testing.T) {
	dir, linked := small(t), t.TempDir()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	for _, path := range files {
		to := filepath.Join(linked, filepath.Base(path))
		if raw, err := os.ReadFile(path); strings.Contains(path, "manifest-") {
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(to, raw, 0o666))
		} else if err := os.Symlink(path, to); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
	}
	c := sampleCodec(4, 8, 2, 3)
	w, err := OpenWriter(dir)
	require.NoError(t, err)
	require.NoError(t, w.Append(sampleBlock(2, c, 7)))
	_, err = w.Commit()
	require.NoError(t, err)
	require.NoError(t, w.Close())
	_, err = OpenWriter(linked)
	require.ErrorIs(t, err, ErrUnsupported)
	r, err := Check(dir)
	require.NoError(t, err)
	require.Empty(t, r.Problems)
}
