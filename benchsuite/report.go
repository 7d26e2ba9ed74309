package benchsuite

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/likbench/likbench/backend"
)

// Schema versions the JSON form. A field may be added within a version; a change of meaning
// makes a new one. docs/results.md describes it.
const Schema = "likbench/1"

// Report is everything one run found.
type Report struct {
	Schema     string             `json:"schema"`
	Started    time.Time          `json:"started"`
	Seconds    float64            `json:"seconds"`
	Revision   string             `json:"revision"`
	Go         string             `json:"go"`
	OS         string             `json:"os"`
	Arch       string             `json:"arch"`
	Flags      []string           `json:"flags"`
	Decisions  []backend.Decision `json:"decisions"`
	Device     Device             `json:"device"`
	Clock      float64            `json:"clock_ns"` // resolution seen
	Ceilings   []Ceiling          `json:"ceilings"`
	Collection *Collection        `json:"collection,omitempty"`
	Indexes    *Indexes           `json:"indexes,omitempty"`
	Rows       []Row              `json:"rows"`
	Cancelled  bool               `json:"cancelled,omitempty"`
}

// Device describes what ran.
type Device struct {
	Backend  string   `json:"backend"`
	Name     string   `json:"name"`
	Ordinal  int      `json:"ordinal"`
	UUID     string   `json:"uuid,omitempty"`
	Driver   string   `json:"driver,omitempty"`
	Features []string `json:"features"`
	MemoryMB float64  `json:"memory_mb"`
	Shared   bool     `json:"shared,omitempty"` // the memory is the system's
	Units    int      `json:"units"`
}

// Ceiling is a measured limit of the device.
type Ceiling struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	Note  string  `json:"note,omitempty"`
}

// Row statuses.
const (
	OK          = "ok"
	Failed      = "failed"      // outputs disagree with the reference: no time is reported
	Unsupported = "unsupported" // the device lacks something, or the variant refuses the operands
	Error       = "error"
)

// Row is one kernel variant on one case.
type Row struct {
	Kernel   string           `json:"kernel"` // instance
	Case     string           `json:"case"`
	Dims     map[string]int64 `json:"dims"`
	Backend  string           `json:"backend"`
	Variant  string           `json:"variant"`
	Class    string           `json:"class,omitempty"`
	Chosen   bool             `json:"chosen"` // what a launch without a variant takes
	Status   string           `json:"status"`
	Reason   string           `json:"reason,omitempty"`
	Wall     Spread           `json:"wall_ns"`   // launch and Sync, each
	DeviceNS Spread           `json:"device_ns"` // back to back, by the device's clock
	GFLOPS   float64          `json:"gflops"`    // of DeviceNS
	GBS      float64          `json:"gb_per_s"`  // compulsory bytes over DeviceNS
	BoundNS  float64          `json:"bound_ns"`  // larger of operations and bytes over the measured ceilings
	BoundBy  string           `json:"bound_by,omitempty"`
	Share    float64          `json:"share"`    // BoundNS over DeviceNS
	PlainNS  Spread           `json:"plain_ns"` // moving the compulsory bytes and nothing else, measured beside the row; memory-bound rows
	OfPlain  float64          `json:"of_plain"` // PlainNS over DeviceNS
	ErrorOf  float64          `json:"error_of_limit"`
	PeakMB   float64          `json:"peak_mb"`          // operands and scratch of this variant
	Shared   bool             `json:"shared,omitempty"` // of the memory that the system shares with the device
	Sets     int              `json:"sets"`             // operand sets rotated
	Seed     uint64           `json:"seed"`
}

// Collection is the real-data pipeline's result.
type Collection struct {
	Name          string             `json:"name"`
	Documents     int                `json:"documents"`
	Queries       int                `json:"queries"`
	Tokens        int64              `json:"tokens"`
	Mode          string             `json:"mode"`
	DType         string             `json:"dtype"`
	Variant       string             `json:"variant"`
	Metrics       map[string]float64 `json:"metrics"`
	BM25          map[string]float64 `json:"bm25"`
	QueriesPerSec float64            `json:"queries_per_s"`
	TokensPerSec  float64            `json:"tokens_per_s"` // document tokens scored per second
	EncodeSec     float64            `json:"encode_s"`
	Agreement     string             `json:"agreement,omitempty"` // of the top 10 with f32
}

// NewReport starts a report.
func NewReport(dev backend.Device, decisions []backend.Decision, flags []string) *Report {
	i := dev.Info()
	return &Report{Schema: Schema, Started: time.Now().UTC().Truncate(time.Second), Revision: Revision(), Go: runtime.Version(),
		OS: runtime.GOOS, Arch: runtime.GOARCH, Flags: append([]string{}, flags...), Decisions: decisions, Ceilings: []Ceiling{}, Rows: []Row{},
		Device: Device{Backend: i.Backend, Name: i.Name, Ordinal: i.Ordinal, UUID: i.UUID, Driver: i.Driver, Features: append([]string{}, i.Features...),
			MemoryMB: float64(i.Memory) / 1e6, Shared: i.Shared, Units: i.Units}}
}

// Revision is the commit or module version of this binary, or "unknown".
func Revision() string {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	rev, dirty := "", ""
	for _, s := range b.Settings {
		switch {
		case s.Key == "vcs.revision":
			rev = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if rev != "" {
		return rev + dirty
	}
	if v := b.Main.Version; v != "" && v != "(devel)" {
		return "module " + v
	}
	return "unknown"
}

// Ceiling returns a measured limit by name.
func (r *Report) Ceiling(name string) (Ceiling, bool) {
	for _, c := range r.Ceilings {
		if c.Name == name {
			return c, true
		}
	}
	return Ceiling{}, false
}

// Failures counts the rows that failed or could not run for another reason than support.
func (r *Report) Failures() int {
	n := 0
	for i := range r.Rows {
		if s := r.Rows[i].Status; s == Failed || s == Error {
			n++
		}
	}
	return n
}

// WriteJSON writes the report, indented. Infinite and undefined numbers do not occur in it.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// ReadJSON reads a report of this schema.
func ReadJSON(r io.Reader) (*Report, error) {
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("benchsuite: results: %w", err)
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("benchsuite: results: %w", err)
	}
	if head.Schema != Schema { // before fields that may mean something else there
		return nil, fmt.Errorf("benchsuite: results: schema %q, want %q", head.Schema, Schema)
	}
	var out Report
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("benchsuite: results: %w", err)
	}
	return &out, nil
}

// finite keeps a ratio out of the JSON that it cannot hold.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}
