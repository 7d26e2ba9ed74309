// Package gorgonia is the driver over gorgonia.org/cu, for applications that already live on it: the same handles,
// so a device made with cuda.Share works in their context and on their memory. It exists under the build tag
// gorgonia only: cu needs cgo and CUDA headers to build, and ends the process at its start where there is no driver.
//
//	api, err := gorgonia.Open()
//	dev, err := cuda.Share(api, 0, gorgonia.Context(ctx))
//	buf, err := cuda.Borrow(dev, gorgonia.Pointer(mem), bytes)
package gorgonia
