// Package canon is the canonical arithmetic: the one definition of a score, a
// cluster sum and an order of results that every backend agrees on, bit for bit.
//
// Float sums differ between instruction sets and tensor cores, so whatever decides
// index bytes, or which document comes first, is defined here instead:
//
//   - [Dot]: a dot product is one chain of float32 fused multiply-adds over the
//     components in ascending order, from +0. [Dots] and [Matrix] give the same
//     bits for many of them, [FMA] is the single step.
//   - [Scale] and [Sum]: a sum over tokens is an integer, so its order and its
//     grouping do not matter.
//   - [Query]: the late-interaction score made of the two.
//   - [Less], [Selector], [TopK]: scores descending, then ids ascending, NaN last.
//   - [Normalize], [Quantiles]: in float64 on the host, rounded once.
//
// Fast arithmetic may screen candidates with an error bound; whatever the bound
// leaves undecided is decided by these functions.
//
// A dot product that is NaN has the bits 0x7fc00000 here, on every processor.
//
// Processor: on amd64 with AVX and FMA3, and on arm64, the chains run in assembly,
// with lanes holding different dot products; elsewhere, and with the tag noasm, the
// fused step is emulated. Tests compare the two bit for bit.
package canon
