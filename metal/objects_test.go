package metal

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/backend/kernel"
	"github.com/likbench/likbench/backend/kernels"
	"github.com/likbench/likbench/metal/internal/flatten"
)

// TestGeneratedFilesAreFresh makes the headers and the flat sources again and holds them against the tree. It needs
// neither a compiler nor a GPU. To refresh: go run ./metal/_gen
func TestGeneratedFilesAreFresh(t *testing.T) {
	var headers []string
	for _, k := range kernel.All() {
		name := k.Name() + "_args.h"
		headers = append(headers, name)
		have, err := os.ReadFile("src/args/" + name)
		require.NoError(t, err)
		require.Equal(t, kernel.Header(k, kernel.MSL), string(have), name)
	}
	files, err := os.ReadDir("src/args")
	require.NoError(t, err)
	require.Len(t, files, len(headers), "a header of a kernel that is gone")

	m, texts, err := flatten.Families(os.DirFS("src"))
	require.NoError(t, err)
	want, err := json.MarshalIndent(m, "", "  ")
	require.NoError(t, err)
	have, err := os.ReadFile("objects/MANIFEST.json")
	require.NoError(t, err)
	require.Equal(t, string(want)+"\n", string(have))
	for _, o := range m.Objects {
		have, err := os.ReadFile("objects/" + o.File)
		require.NoError(t, err)
		require.Equal(t, string(texts[o.Family]), string(have), o.File)
	}
	files, err = os.ReadDir("objects")
	require.NoError(t, err)
	require.Len(t, files, len(m.Objects)+1, "an object of a family that is gone")
}

// TestEntriesAreBound: every entry point has a binding and every binding its entry points.
func TestEntriesAreBound(t *testing.T) {
	set, err := embeddedObjects()
	require.NoError(t, err)
	bound := map[string]string{}
	for _, v := range variants() {
		require.True(t, len(v.stages) > 0 || slices.Contains(v.binding.Requires, featureF64), v.binding.Kernel)
		for _, f := range v.binding.Requires {
			require.Contains(t, lacking, f)
		}
		for _, s := range v.stages {
			bound[s.entry] = v.kernel.Family()
		}
	}
	for _, e := range ceilingEntries() {
		bound[e] = "ceiling"
	}
	require.Equal(t, set.entries, bound)
	for _, k := range kernel.All() {
		for _, in := range k.Instances() {
			require.True(t, slices.ContainsFunc(variants(), func(v *variant) bool { return v.binding.Kernel == in.Name }), "no variant of %s", in.Name)
		}
	}
}

// TestSizesAgreeWithTheSources: sizes that Go plans with are enumerators of the sources.
func TestSizesAgreeWithTheSources(t *testing.T) {
	for _, c := range []struct {
		file, name string
		want       int64
	}{
		{"msl/status.h", "STATUS_CODES", statusCodes}, {"msl/status.h", "STATUS_OPERANDS", statusOperands},
		{"msl/offsets.h", "OFFSETS_THREADS", offsetsThreads}, {"msl/status.h", "FAULT_OFFSETS", kernel.FaultOffsets}, {"msl/reduce.h", "MAX_SIMDGROUPS", rowMemory / 4},
		{"lateinteraction/maxsim_simdgroup.h", "TILE", maxSimTile}, {"lateinteraction/maxsim_simdgroup.h", "TILE_THREADS", maxSimTileThreads},
		{"rownorm/rms_norm_backward.h", "DW_ROWS", rmsRows}, {"rownorm/rms_norm.h", "CAST_LLAMA", int64(kernels.CastLlama)},
		{"rownorm/rms_norm.h", "CAST_GEMMA", int64(kernels.CastGemma)}, {"rownorm/rms_norm.h", "CAST_NONE", int64(kernels.CastNone)},
		{"loss/hardest.h", "REDUCE_NONE", int64(kernels.ReduceNone)}, {"loss/hardest.h", "REDUCE_MEAN", int64(kernels.ReduceMean)},
		{"loss/hardest.h", "REDUCE_SUM", int64(kernels.ReduceSum)}, {"loss/hardest.h", "TIE_LOWEST", int64(kernels.TieLowest)},
		{"loss/hardest.h", "TIE_EVEN_SPLIT", int64(kernels.TieEvenSplit)},
		{"selection/topk_radix.h", "RADIX_THREADS", radixThreads}, {"selection/topk_radix.h", "RADIX_LOCAL", radixLocal},
		{"ceiling/ceiling.h", "CEILING_THREADS", ceilingThreads}, {"ceiling/ceiling.h", "CEILING_CHAINS", ceilingChains},
		{"ceiling/ceiling.h", "CEILING_MATRICES", ceilingMatrices}, {"ceiling/ceiling.h", "CEILING_VECTORS", ceilingVectors},
		{"pairwise/rbf_matmul.h", "RBF_ROWS", rbfRows}, {"pairwise/rbf_matmul.h", "RBF_COLUMNS", rbfColumns},
		{"pairwise/rbf_matmul.h", "RBF_DEPTH", rbfDepth}, {"pairwise/rbf_matmul.h", "RBF_SIDES", rbfSides},
		{"plaid/tile.h", "DOT_ROWS", dotTile}, {"plaid/tile.h", "DOT_COLUMNS", dotTile}, {"plaid/tile.h", "DOT_DEPTH", dotDepth},
		{"plaid/residual_encode.h", "ENCODE_LANES", plaidSimd}, {"plaid/plaid_approx.h", "APPROX_LANES", plaidSimd},
		{"plaid/kmeans_update.h", "KMEANS_THREADS", kmeansThreads}, {"plaid/plaid_candidates.h", "MARK_THREADS", markThreads},
		{"plaid/plaid_candidates.h", "GATHER_THREADS", gatherThreads}, {"plaid/residual_pair.h", "PAIR_TILE", pairTile},
		{"plaid/residual_pair.h", "PAIR_THREADS", pairThreads},
	} {
		src, err := os.ReadFile("src/" + c.file)
		require.NoError(t, err)
		m := regexp.MustCompile(`\b` + c.name + ` = (\d+)`).FindSubmatch(src)
		require.NotNil(t, m, "%s in %s", c.name, c.file)
		got, err := strconv.ParseInt(string(m[1]), 10, 64)
		require.NoError(t, err)
		require.Equal(t, c.want, got, c.name)
	}
}

func TestDamagedObjects(t *testing.T) {
	root, err := fs.Sub(embedded, "objects")
	require.NoError(t, err)
	copyOf := func() fstest.MapFS {
		m := fstest.MapFS{}
		require.NoError(t, fs.WalkDir(root, ".", func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			b, err := fs.ReadFile(root, path)
			m[path] = &fstest.MapFile{Data: b}
			return err
		}))
		return m
	}
	_, err = readObjects(copyOf())
	require.NoError(t, err)
	for name, damage := range map[string]func(fstest.MapFS){
		"rowmap.metal":  func(m fstest.MapFS) { m["rowmap.metal"].Data = m["rowmap.metal"].Data[:100] },
		"loss.metal":    func(m fstest.MapFS) { delete(m, "loss.metal") },
		"MANIFEST.json": func(m fstest.MapFS) { m["MANIFEST.json"].Data = m["MANIFEST.json"].Data[:50] },
	} {
		m := copyOf()
		damage(m)
		_, err := readObjects(m)
		require.ErrorContains(t, err, "metal: objects: ")
		require.ErrorContains(t, err, name)
	}
}

// TestBlockMatchesTheHeader fills a block and reads it back by the members that the header lists.
func TestBlockMatchesTheHeader(t *testing.T) {
	for _, v := range variants() {
		var c backend.Call
		c.NOperand, c.NAxis, c.NAttr = uint8(len(v.kernel.Operands())), uint8(len(v.kernel.Axes())), uint8(len(v.kernel.Attrs()))
		var mem buffer
		for i := range c.NOperand {
			c.Operands[i] = backend.NewView(&mem, 0, backend.F32, 3, 5)
			c.Operands[i].Stride = 7 + int64(i)
		}
		c.Operands[c.NOperand-1] = backend.View{}
		for i := range c.NAxis {
			c.Axes[i] = 100 + int64(i)
		}
		for i := range c.NAttr {
			c.Attrs[i] = backend.Word(math.Float64bits(1.5 + float64(i)))
		}
		b := v.fillBlock(make([]byte, maxBlock), &c, 4096, 9)
		members := v.kernel.Members()
		require.Len(t, b, 8*len(members), v.binding.Kernel)
		require.LessOrEqual(t, len(b), 4096)
		operand, axis, attr, stride := 0, 0, 0, 0
		for i, m := range members {
			word := binary.LittleEndian.Uint64(b[8*i:])
			what := fmt.Sprintf("%s.%s", v.kernel.Name(), m.Name)
			switch m.What {
			case "operand":
				require.EqualValues(t, boolWord(operand < int(c.NOperand)-1), word, what)
				operand++
			case "axis":
				require.EqualValues(t, 100+axis, word, what)
				axis++
			case "stride":
				o := v.strided[stride]
				require.Equal(t, v.kernel.Operands()[o].Snake+"_stride", m.Name)
				require.EqualValues(t, c.Operands[o].RowStride(), word, what)
				stride++
			case "attribute":
				if v.kernel.Attrs()[attr].Kind.String() == "float64" {
					require.Equal(t, float32(1.5+float64(attr)), math.Float32frombits(uint32(word)), what)
					require.Zero(t, word>>32, what)
				} else {
					require.EqualValues(t, c.Attrs[attr], word, what)
				}
				attr++
			}
		}
		tail := b[len(b)-32:]
		for i, want := range []uint64{1, 4096, 1, 9} {
			require.Equal(t, want, binary.LittleEndian.Uint64(tail[8*i:]))
		}
	}
}

func boolWord(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestVariantOrder(t *testing.T) {
	last := map[string]int{}
	for _, b := range New().Bindings() {
		if n, ok := last[b.Kernel]; ok {
			require.GreaterOrEqual(t, n, len(b.Requires), "%s/%s: the most demanding variant is tried first", b.Kernel, b.Variant)
		}
		last[b.Kernel] = len(b.Requires)
	}
	require.Panics(t, func() {
		Bind(kernels.TopK, backend.Binding{Kernel: "topk", Variant: "radix"}, Launcher[kernels.TopKArgs]{})
	})
	require.Panics(t, func() {
		Bind(kernels.TopK, backend.Binding{Kernel: "nosuch", Variant: "x"}, Launcher[kernels.TopKArgs]{})
	})
}

// TestThreadPositionsFit: a thread that finds its work by its position in the grid has 32 bits of it, so a stage of
// such threads has to be refused where there would be more.
func TestThreadPositionsFit(t *testing.T) {
	byPosition := positioned(t)
	for _, v := range variants() {
		for axis := range v.kernel.Axes() {
			c := &backend.Call{Args: v.kernel.NewArgs(), NAxis: uint8(len(v.kernel.Axes()))}
			for i := range c.Axes {
				c.Axes[i] = 1
			}
			c.Axes[axis] = 1<<32 + 1
			for i := range v.kernel.Operands() {
				c.Operands[i].Buf = &buffer{}
			}
			if v.binding.Accept != nil && errors.Is(v.binding.Accept(c), backend.ErrUnsupported) {
				continue
			}
			for i := range v.stages {
				var g Geometry
				v.stages[i].geometry(c, &g)
				if byPosition[v.stages[i].entry] && !g.Skip && g.Groups.X <= maxGroups {
					require.LessOrEqual(t, g.Groups.X*g.Threads.X, uint64(1)<<32, "%s, axis %s", v.stages[i].entry, v.kernel.Axes()[axis])
				}
			}
		}
	}
}

// positioned are the entries that ask for a thread's position in the grid.
func positioned(t *testing.T) map[string]bool {
	set, err := embeddedObjects()
	require.NoError(t, err)
	function := regexp.MustCompile(`\[\[kernel\]\] void (\w+)\(([^{;]*)\{`)
	instance := regexp.MustCompile(`host_name\("(\w+)"\)\]\] \[\[kernel\]\] decltype\((\w+)`)
	asks, out := map[string]bool{}, map[string]bool{}
	for _, text := range set.families {
		for _, m := range function.FindAllStringSubmatch(text, -1) {
			asks[m[1]] = strings.Contains(m[2], "[[thread_position_in_grid]]")
			out[m[1]] = asks[m[1]] // where it is no template
		}
		for _, m := range instance.FindAllStringSubmatch(text, -1) {
			out[m[1]] = asks[m[2]]
		}
	}
	require.True(t, out["softmax_f32_naive"])
	require.False(t, out["softmax_f32_simdgroup"])
	return out
}
