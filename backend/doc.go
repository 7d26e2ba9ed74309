// Package backend is the contract between kernels and hardware: how memory,
// programs and streams of one kind of machine are reached. It knows no kernel
// and no vendor.
//
// Vocabulary:
//
//   - Backend: one way of running kernels here ("cuda", "metal", "simd", "host").
//   - Device: one opened unit; owns memory and programs; safe for concurrent use.
//   - Buffer: a range of device memory in bytes. Whoever allocates it frees it.
//   - View: dtype and shape on a buffer: dense, row-major.
//   - Program: one variant of one kernel instance, loaded on a device.
//   - Stream: operations in order; one goroutine at a time.
//   - Binding: one compiled-in variant with what it requires.
//   - Instance: a kernel at fixed dtypes, for example "rms_norm_bf16".
//
// Kernels are declared in backend/kernels and launched through the typed values
// there; this package only carries the untyped [Call].
package backend
