package benchsuite

import (
	"fmt"
	"strings"
)

// Indexes are what PLAID indexes of a collection answer, beside scores of the vectors they
// were built from.
type Indexes struct {
	Name      string             `json:"name"`
	Documents int                `json:"documents"`
	Queries   int                `json:"queries"`
	Exact     map[string]float64 `json:"exact"` // metrics of float MaxSim over all documents
	Rows      []IndexRow         `json:"rows"`
	Failed    []string           `json:"failed,omitempty"` // gates that were not met
}

// IndexRow is one index of a collection. Recalls are of the first ten.
type IndexRow struct {
	Bits          int                `json:"bits"`
	Centroids     int                `json:"centroids"`
	BuildSec      float64            `json:"build_s"`
	LoadSec       float64            `json:"load_s"`
	Bytes         int64              `json:"bytes"` // on disk
	FastPlaid     int64              `json:"bytes_fastplaid"`
	Metrics       map[string]float64 `json:"metrics"`
	Kept          float64            `json:"kept"`           // nDCG@10 over that of float MaxSim
	DefaultRecall float64            `json:"recall_default"` // against every document scored from the index
	ProbedRecall  float64            `json:"recall_probe"`   // the same where cells are probed
	ExactRecall   float64            `json:"recall_exact"`   // the same of preset exact
	FloatRecall   float64            `json:"recall_float"`   // the default search against float MaxSim
	Method        string             `json:"method"`         // of the default search
	Reason        string             `json:"reason"`
	ExactMethod   string             `json:"exact_method"` // of preset exact
	Pruned        float64            `json:"pruned"`       // share of documents that preset exact did not score
	P50           float64            `json:"p50_s"`        // single queries, wall, default search
	P95           float64            `json:"p95_s"`
	ProbeP50      float64            `json:"probe_p50_s"`
	ScanP50       float64            `json:"scan_p50_s"`
	ExactP50      float64            `json:"exact_p50_s"`
	QueriesPerSec float64            `json:"queries_per_s"` // all queries as one batch
}

func (x *Indexes) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "%s: %d documents, %d queries; float MaxSim of all documents has nDCG@10 %.6f.\n\n", x.Name, x.Documents, x.Queries, x.Exact["nDCG@10"])
	b.WriteString("| bits | centroids | build s | MB | nDCG@10 | kept | recall@10 default | probe | exact | p50 ms | p95 | probe | scan | exact | queries/s | pruned by exact |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, r := range x.Rows {
		fmt.Fprintf(b, "| %d | %d | %.2f | %.2f | %.6f | %.4f | %.4f | %.4f | %.4f | %.3f | %.3f | %.3f | %.3f | %.3f | %.0f | %s |\n", r.Bits, r.Centroids, r.BuildSec,
			float64(r.Bytes)/1e6, r.Metrics["nDCG@10"], r.Kept, r.DefaultRecall, r.ProbedRecall, r.ExactRecall,
			1e3*r.P50, 1e3*r.P95, 1e3*r.ProbeP50, 1e3*r.ScanP50, 1e3*r.ExactP50, r.QueriesPerSec, percent(r.Pruned))
	}
	if len(x.Rows) > 0 {
		fmt.Fprintf(b, "\nThe default search takes the method %s: %s.\n", x.Rows[0].Method, cell(x.Rows[0].Reason))
	}
	for _, f := range x.Failed {
		fmt.Fprintf(b, "\n**Gate not met:** %s.\n", cell(f))
	}
}
