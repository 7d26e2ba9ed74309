package format

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// entry is a file of a zip archive.
type entry struct {
	name   string
	text   string
	method uint16
}

func archive(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		w, err := z.CreateHeader(&zip.FileHeader{Name: e.name, Method: e.method})
		require.NoError(t, err)
		_, err = w.Write([]byte(e.text))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return b.Bytes()
}

// Parts of pickles.
const (
	head2    = "\x80\x02"
	rebuild2 = "ctorch._utils\n_rebuild_tensor_v2\n"
	ordered  = "ccollections\nOrderedDict\n)R"
)

// stored is a reference to storage 0 of n elements.
func stored(kind string, n byte) string {
	return "(X\x07\x00\x00\x00storagectorch\n" + kind + "\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK" + string(rune(n)) + "tQ"
}

// TestTorchAsWritten reads a pickle with the memo opcodes of torch.save, which the writer
// here leaves out, and the entries of newer releases.
func TestTorchAsWritten(t *testing.T) {
	pickle := head2 + rebuild2 + "q\x00((X\x07\x00\x00\x00storageq\x01ctorch\nFloatStorage\nq\x02X\x01\x00\x00\x000q\x03" +
		"X\x06\x00\x00\x00cuda:0q\x04K\x06tq\x05QK\x01K\x02K\x02\x86q\x06K\x02K\x01\x86q\x07\x89ccollections\nOrderedDict\nq\x08)Rq\x09tq\x0aRq\x0b."
	data := make([]byte, 24)
	for i := range 6 {
		binary.LittleEndian.PutUint32(data[4*i:], uint32(0x3f800000+i<<20))
	}
	dir := t.TempDir()
	put(t, dir, "x.pt", archive(t, entry{name: "stem/data.pkl", text: pickle}, entry{name: "stem/.format_version", text: "1"},
		entry{name: "stem/.storage_alignment", text: "64"}, entry{name: "stem/byteorder", text: "little"},
		entry{name: "stem/data/0", text: string(data)}, entry{name: "stem/version", text: "3\n"},
		entry{name: "stem/.data/serialization_id", text: "1234"}))
	f, err := openTorch(dir, "x.pt")
	require.NoError(t, err)
	defer f.f.Close()
	require.NoError(t, f.verify())
	require.Len(t, f.tensors, 1)
	require.Equal(t, []int{2, 2}, f.tensors[0].shape)
	v, err := f.tensors[0].floats()
	require.NoError(t, err)
	require.Equal(t, []float32{1.125, 1.25, 1.375, 1.5}, v)
}

// TestHostilePickles: what would execute, import or blow up ends with an error; a command
// that would have left a mark leaves none.
func TestHostilePickles(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "executed")
	touch := "touch " + mark
	str := func(s string) string { return "\x8c" + string(rune(len(s))) + s }
	tensor := rebuild2 + "(" + stored("FloatStorage", 1) + "K\x00K\x01\x85K\x01\x85\x89" + ordered + "tR"
	for name, pickle := range map[string]string{
		"os.system":            head2 + "cos\nsystem\n(X" + string(rune(len(touch))) + "\x00\x00\x00" + touch + "tR.",
		"posix by stack":       "\x80\x04" + str("posix") + str("system") + "\x93" + str(touch) + "\x85R.",
		"builtins.eval":        head2 + "c__builtin__\neval\n.",
		"INST":                 "(S'" + touch + "'\nios\nsystem\n.",
		"OBJ":                  "(cos\nsystem\no.",
		"NEWOBJ":               head2 + "ccollections\nOrderedDict\n)\x81.",
		"BUILD":                head2 + tensor + "}b.",
		"EXT1":                 head2 + "\x82\x01.",
		"dictionary":           head2 + "}K\x01K\x02s.",
		"python persid":        "Pfile\n.",
		"persid of no storage": head2 + "X\x01\x00\x00\x00xQ.",
		"call of a number":     head2 + "K\x01)R.",
		"dict with arguments":  head2 + "ccollections\nOrderedDict\n(K\x01tR.",
		"double storage":       head2 + "ctorch\nDoubleStorage\n.",
		"nested dotted":        head2 + "ccollections\nOrderedDict.__init__\n.",
		"bytes":                head2 + "C\x01x.",
		"long":                 head2 + "\x8a\x09123456789.",
		"int as text":          "I1\n.",
		"stack":                head2 + strings.Repeat("K\x01", maxStack+1) + ".",
		"list":                 head2 + "](" + strings.Repeat("K\x01", maxStack) + "e(" + strings.Repeat("K\x01", maxStack/2) + "e.",
		"transposed":           head2 + rebuild2 + "(" + stored("FloatStorage", 4) + "K\x00K\x02K\x02\x86K\x01K\x02\x86\x89" + ordered + "tR.",
	} {
		_, _, err := unpickle([]byte(pickle))
		require.Error(t, err, name)
		require.True(t, errors.Is(err, ErrUnsafe) || errors.Is(err, ErrUnsupported), "%s: %v", name, err)
		dir := t.TempDir()
		put(t, dir, "x.pt", archive(t, entry{name: "a/data.pkl", text: pickle}, entry{name: "a/data/0", text: "1234"}))
		_, err = openTorch(dir, "x.pt")
		require.ErrorContains(t, err, "x.pt: byte ", name)
		require.NoFileExists(t, mark)
	}
	for name, pickle := range map[string]string{
		"empty": "", "no end": head2 + "N", "nothing": head2 + ".", "two values": head2 + "NN.", "rest": head2 + "N.N",
		"memo": head2 + "h\x07.", "mark alone": head2 + "(.", "mark as value": head2 + "(\x85.", "no mark": head2 + "t.",
		"append to none": head2 + "Na.", "text cut": head2 + "X\xff\xff\xff\xffab.", "name cut": head2 + "ctorch\nHalf",
		"memo of mark": head2 + "(q\x00.", "reduce of none": head2 + "R.", "number names": "\x80\x04K\x01K\x02\x93.",
		"beyond storage": head2 + rebuild2 + "(" + stored("FloatStorage", 4) + "K\x02K\x03\x85K\x01\x85\x89" + ordered + "tR.",
		"offset beyond":  head2 + rebuild2 + "(" + stored("FloatStorage", 4) + "K\x05K\x00\x85K\x01\x85\x89" + ordered + "tR.",
		"negative":       head2 + rebuild2 + "(" + stored("FloatStorage", 4) + "K\x00J\xff\xff\xff\xff\x85K\x01\x85\x89" + ordered + "tR.",
		"huge":           head2 + rebuild2 + "(" + stored("FloatStorage", 4) + "K\x00\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7fK\x04\x86K\x04K\x01\x86\x89" + ordered + "tR.",
		"few arguments":  head2 + rebuild2 + "(" + stored("FloatStorage", 4) + "tR.",
	} {
		_, _, err := unpickle([]byte(pickle))
		require.Error(t, err, name)
	}
	v, _, err := unpickle([]byte(head2 + tensor + "."))
	require.NoError(t, err)
	require.Equal(t, "tensor [1] of f4", v.(*pickled).String())
}

// TestHostileArchives: bombs, lies about sizes and foreign files, in bounded memory.
func TestHostileArchives(t *testing.T) {
	pickle := head2 + rebuild2 + "(" + stored("FloatStorage", 2) + "K\x00K\x02\x85K\x01\x85\x89" + ordered + "tR."
	good := entry{name: "a/data.pkl", text: pickle}
	data := entry{name: "a/data/0", text: "12345678"}
	bomb := strings.Repeat("N", 64<<20)
	for name, c := range map[string]struct {
		file []byte
		kind error
		want string
	}{
		"compressed pickle": {archive(t, entry{good.name, pickle, zip.Deflate}, data), ErrUnsupported, "is compressed by method 8"},
		"bomb":              {archive(t, entry{good.name, bomb, zip.Deflate}), ErrCorrupt, "of 67108864 bytes, limit 1048576"},
		"compressed data":   {archive(t, good, entry{data.name, data.text, zip.Deflate}), ErrUnsupported, "is compressed"},
		"big endian":        {archive(t, good, data, entry{name: "a/byteorder", text: "big"}), ErrUnsupported, `byte order "big"`},
		"two pickles":       {archive(t, good, data, entry{name: "b/data.pkl", text: pickle}), ErrCorrupt, "entries"},
		"twice":             {archive(t, good, data, data), ErrCorrupt, "occurs twice"},
		"no data":           {archive(t, good), ErrCorrupt, `no entry for storage "0"`},
		"short data":        {archive(t, good, entry{name: data.name, text: "1234567"}), ErrCorrupt, "entry a/data/0 of 7 bytes, storage of 2 elements of f4"},
		"no pickle":         {archive(t, data), ErrCorrupt, "no data.pkl in a zip file of 1 entries"},
		"legacy":            {[]byte("\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."), ErrUnsupported, "before 1.6"},
		"no zip":            {[]byte("hello"), ErrCorrupt, "zip"},
		"empty":             {nil, ErrCorrupt, "zip"},
	} {
		dir := t.TempDir()
		put(t, dir, "x.pt", c.file)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := openTorch(dir, "x.pt")
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, c.kind, name)
		require.ErrorContains(t, err, c.want, name)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), name)
	}
}

// TestColBERTQuirks: zeros after the lists, one average for all components, tombstones, the
// older list file.
func TestColBERTQuirks(t *testing.T) {
	dir, m := written(t, ColBERT)
	c, err := begin(dir, func(op, path string) error { return nil })
	require.NoError(t, err)
	w := &writer{commit: c, source: m, flavour: ColBERT}
	lists, err := BuildLists(m)
	require.NoError(t, err)
	padded := *lists
	padded.Documents = append(append([]int32{}, lists.Documents...), make([]int32, 40)...)
	w.lists = &padded
	require.NoError(t, w.listFiles())
	m.Average = []float32{0.25}
	require.NoError(t, w.torch("avg_residual.pt", torchPart{"f4", nil, constantFloat(w, 0.25)}))
	require.NoError(t, w.finish())
	x := opened(t, dir)
	requireSame(t, m, x)
	report, err := Check(dir)
	require.NoError(t, err)
	require.Empty(t, report.Problems)

	require.NoError(t, os.Rename(filepath.Join(dir, "ivf.pid.pt"), filepath.Join(dir, "ivf.pt")))
	x = opened(t, dir)
	require.False(t, x.HasLists())
	require.Len(t, x.Warnings(), 1)
	_, err = x.ReadLists(nil, 0, 1)
	require.ErrorIs(t, err, ErrMissing)

	// A flipped byte of the payload is found by its sum, which opening does not read.
	text := get(t, dir, "0.residuals.pt")
	at := bytes.Index(text, m.Residuals[:16])
	require.Positive(t, at)
	text[at] ^= 1
	put(t, dir, "0.residuals.pt", text)
	require.NoError(t, opened(t, dir).Close())
	report, err = Check(dir)
	require.NoError(t, err)
	require.Len(t, report.Problems, 1)
	require.ErrorContains(t, report.Problems[0].Err, `0.residuals.pt: entry "archive/data/0": zip: checksum error`)
}

// TestKeptThreshold: ColBERT writes none, and one that a conversion has kept is a number.
func TestKeptThreshold(t *testing.T) {
	dir, _ := written(t, ColBERT)
	text := string(get(t, dir, "metadata.json"))
	require.Contains(t, text, `"cluster_threshold": 0.5`)
	put(t, dir, "metadata.json", []byte(strings.Replace(text, `,
  "cluster_threshold": 0.5`, "", 1)))
	require.Zero(t, opened(t, dir).ClusterThreshold())
	for _, bad := range []string{`"x"`, "-1", "1e99", "[]"} {
		put(t, dir, "metadata.json", []byte(strings.Replace(text, "0.5", bad, 1)))
		_, err := Open(dir)
		require.ErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, "metadata.json: cluster_threshold is "+bad)
	}
}

// TestSkim walks the golden pickles, and refuses what is none.
func TestSkim(t *testing.T) {
	for text, want := range map[string]string{
		"\x80\x04]\x94.":                        "",
		"\x80\x04]\x94":                         "ends inside a pickle",
		"\x80\x04]\x94.x":                       "1 bytes after the pickle",
		"\x80\x04\xff.":                         "opcode 0xff is none of a pickle",
		"X\xff\xff\xff\xff.":                    "4294967295 bytes of an object, 1 left",
		"\x8e\xff\xff\xff\xff\xff\xff\xff\xff.": "18446744073709551615 bytes of an object, 1 left",
		"cos\nsystem\n.":                        "",
		"cos\nsystem":                           "ends inside a pickle",
		"":                                      "ends inside a pickle",
	} {
		dir := t.TempDir()
		put(t, dir, "x", []byte(text))
		f, err := openFile(dir, "x")
		require.NoError(t, err)
		if err := skim(f, 0); want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, ErrCorrupt)
			require.ErrorContains(t, err, want)
		}
		require.NoError(t, f.f.Close())
	}
}

func constantFloat(w *writer, v float32) func(b *bufio.Writer) error {
	return func(b *bufio.Writer) error { return w.writeFloats(b, "", "f4", []float32{v}) }
}
