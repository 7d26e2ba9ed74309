package benchsuite

import (
	"fmt"
	"io"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// WriteBench writes the rows in Go's benchmark format, one result per finished row, with
// the environment as configuration lines, so that benchstat compares runs.
func (r *Report) WriteBench(w io.Writer) error {
	bw := benchfmt.NewWriter(w)
	config := []benchfmt.Config{
		{Key: "goos", Value: []byte(r.OS), File: true},
		{Key: "goarch", Value: []byte(r.Arch), File: true},
		{Key: "backend", Value: []byte(r.Device.Backend), File: true},
		{Key: "device", Value: []byte(r.Device.Name), File: true},
		{Key: "revision", Value: []byte(r.Revision), File: true},
	}
	if r.Device.Driver != "" {
		config = append(config, benchfmt.Config{Key: "driver", Value: []byte(r.Device.Driver), File: true})
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Status != OK {
			continue
		}
		res := &benchfmt.Result{Config: config, Iters: row.DeviceNS.N,
			Name: benchfmt.Name(fmt.Sprintf("%s/case=%s/variant=%s", upperFirst(row.Kernel), row.Case, row.Variant)),
			Values: []benchfmt.Value{
				{Value: row.DeviceNS.Median, Unit: "ns/op"},
				{Value: row.Wall.Median, Unit: "wall-ns/op"},
				{Value: row.GBS, Unit: "GB/s"},
				{Value: row.GFLOPS, Unit: "GFLOP/s"},
				{Value: 100 * row.Share, Unit: "bound-%"},
			}}
		if err := bw.Write(res); err != nil {
			return err
		}
	}
	return nil
}

// upperFirst: a benchmark's name starts with an upper-case letter after "Benchmark".
func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
