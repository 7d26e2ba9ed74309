package cuda

import "github.com/likbench/likbench/backend/kernels"

var _ = cellsTiled(kernels.CentroidScoresInt8, cellsOperands{score: 4, half: 5, cell: 6, cellScore: 7}, "exact",
	"bytes on tensor cores where tokens or centroids are many, else four at a time; cells as of centroid_scores")
