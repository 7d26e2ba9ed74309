package build

import (
	"encoding/json"
	"flag"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend/canon"
	"github.com/likbench/likbench/internal/npy"
	"github.com/likbench/likbench/plaid/format"
)

var dataFlag = flag.String("data", "", "folder of token vectors for BenchmarkBuildFolder: docs.int8.npy, doc_offsets.npy, manifest.json with the scale")

var streamedFlag = flag.Int("streamed", 1_000_000, "tokens of BenchmarkBuildStreamed, by the hundred")

// benchBuild reports seconds, the stages, and the peak of resident memory of the process,
// which includes the collection.
func benchBuild(b *testing.B, docs Collection, o Options) {
	dev := fast(b)
	before := cpuSeconds()
	var stages map[Stage]float64
	var s *Statistics
	for b.Loop() {
		var err error
		s, err = Build(ctx(), dev, filepath.Join(b.TempDir(), "index"), docs, o)
		require.NoError(b, err)
		stages = map[Stage]float64{}
		for _, x := range s.Stages {
			stages[x.Stage] += x.Time.Seconds()
		}
	}
	for stage, seconds := range stages {
		b.ReportMetric(seconds, string(stage)+"-s")
	}
	b.ReportMetric(float64(s.Tokens), "tokens")
	b.ReportMetric(float64(s.Centroids), "centroids")
	if a, ok := docs.(*Arrays); ok {
		b.ReportMetric(float64(len(a.Vectors))*4/1e6, "collection-MB")
	}
	b.ReportMetric(float64(s.DevicePeak)/1e6, "device-peak-MB")
	b.ReportMetric(peakMB(), "rss-peak-MB")
	b.ReportMetric(cpuSeconds()-before, "cpu-s") // of all runs, b.Loop's first included
}

// peakMB is the high-water mark of resident memory, 0 where the system does not say.
func peakMB() float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			kb, _ := strconv.ParseFloat(f[1], 64)
			return kb * 1024 / 1e6
		}
	}
	return 0
}

// cpuSeconds is the processor time of the process so far: what a machine that is shared with
// others does not change. 0 where the system does not say.
func cpuSeconds() float64 {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	user, _ := strconv.ParseFloat(f[11], 64)
	system, _ := strconv.ParseFloat(f[12], 64)
	return (user + system) / 100
}

// BenchmarkBuildSynthetic builds an index of clustered unit vectors.
func BenchmarkBuildSynthetic(b *testing.B) {
	for _, c := range []struct {
		name                  string
		documents, longest, d int
	}{{"30k-64", 300, 200, 64}, {"120k-128", 1000, 240, 128}} {
		b.Run(c.name, func(b *testing.B) { benchBuild(b, clustered(1, c.documents, c.longest, c.d), Options{Bits: 2}) })
	}
}

// generated are clustered unit vectors that are made again at each reading, so that none of
// the memory is the collection's.
type generated struct {
	documents, tokens, d int
	directions           []float32
}

func (g *generated) Dim() int { return g.d }

func (g *generated) Documents() iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		doc := make([]float32, g.tokens*g.d)
		for j := range g.documents {
			r := rand.New(rand.NewPCG(uint64(j), 1))
			for t := 0; t < len(doc); t += g.d {
				row, at := doc[t:t+g.d], r.IntN(len(g.directions)/g.d)*g.d
				for i := range row {
					row[i] = g.directions[at+i] + r.Float32()
				}
				canon.Normalize(row, row)
			}
			if !yield(doc, nil) {
				return
			}
		}
	}
}

// BenchmarkBuildStreamed builds an index of -streamed tokens that are nowhere in memory, by
// one iteration of k-means, once with the sample on the device and once without.
func BenchmarkBuildStreamed(b *testing.B) {
	g := &generated{documents: *streamedFlag / 100, tokens: 100, d: 64, directions: clustered(3, 400, 100, 64).Vectors}
	for _, memory := range []int64{1, 0} {
		name := "resident"
		if memory > 0 {
			name = "reread"
		}
		b.Run(name, func(b *testing.B) { benchBuild(b, g, Options{Iterations: 1, DeviceMemory: memory}) })
	}
}

// BenchmarkBuildFolder builds an index of real vectors:
//
//	go test ./plaid/build -run '^$' -bench Folder -benchtime 1x -data DIR
func BenchmarkBuildFolder(b *testing.B) {
	if *dataFlag == "" {
		b.Skip("no folder of token vectors: give one with -data")
	}
	docs := folder(b, *dataFlag)
	for _, bits := range []int{2, 4} {
		b.Run(strconv.Itoa(bits)+"-bit", func(b *testing.B) {
			benchBuild(b, docs, Options{Bits: bits})
			b.StopTimer()
			m, _, err := InMemory(ctx(), fast(b), docs, Options{Bits: bits})
			require.NoError(b, err)
			b.ReportMetric(meanCosine(b, docs, m), "cosine")
		})
	}
}

// meanCosine is that of tokens with what decoding gives back.
func meanCosine(t testing.TB, docs *Arrays, m *format.Memory) float64 {
	src := format.Source(m)
	row := src.Dim() * src.Bits() / 8
	dec, err := decoder(m)
	require.NoError(t, err)
	var sum float64
	v, x := make([]float32, docs.Components), make([]float32, docs.Components)
	for i, c := range m.TokenCodes {
		require.NoError(t, dec.Token(v, int64(c), m.Residuals[i*row:(i+1)*row]))
		canon.Normalize(x, docs.Vectors[i*len(x):(i+1)*len(x)])
		sum += float64(canon.Dot(v, x))
	}
	return sum / float64(len(m.TokenCodes))
}

// folder reads int8 vectors of one scale with int32 offsets.
func folder(t testing.TB, dir string) *Arrays {
	var manifest struct{ Scale float64 }
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &manifest))
	vectors, err := npy.ReadFile(filepath.Join(dir, "docs.int8.npy"))
	require.NoError(t, err)
	offsets, err := npy.ReadFile(filepath.Join(dir, "doc_offsets.npy"))
	require.NoError(t, err)
	a := &Arrays{Components: vectors.Shape[1], Vectors: make([]float32, vectors.Len())}
	a.Offsets, err = offsets.Int64s()
	require.NoError(t, err)
	for i, v := range vectors.Data {
		a.Vectors[i] = float32(float64(int8(v)) * manifest.Scale / 127)
	}
	runtime.GC()
	return a
}
