module github.com/likbench/likbench/cuda/_gen

go 1.26.0

require (
	github.com/ebitengine/purego v0.11.3
	github.com/likbench/likbench v0.0.0
)

replace github.com/likbench/likbench => ../..
