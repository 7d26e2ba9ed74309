// Package harness builds operands of any declared kernel from named axes and seeded data,
// keeps guards around them, runs the reference on copies, and compares. Conformance tests
// and the benchmark command share it; it does not import testing.
package harness
