package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNestedModulesAreLeftOut(t *testing.T) {
	require.Equal(t, []string{"go.mod", "a.go", "simd/a.s", "simd/_generous/x.go"},
		outside([]string{"go.mod", "a.go", "simd/_gen/go.mod", "simd/_gen/x/y.go", "simd/a.s", "simd/_generous/x.go"}))
}
