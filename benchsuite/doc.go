// Package benchsuite checks and times every kernel variant of a device. It knows kernels
// only through their declarations and prints nothing: [Run] returns a [Report], which can
// be written as JSON, Markdown and Go benchmark text.
//
// Protocol: outputs are held against the float64 reference before anything is timed; at
// least five warm-ups; operands rotate through twice the last-level cache; the median and
// interquartile range of repeats are reported, of single launches with Sync (wall) and of
// launches back to back (device). Limits of the machine are measured in the same run, so
// that each row states its share of the bound.
package benchsuite
