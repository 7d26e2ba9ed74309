package cuda

import (
	"fmt"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/cuda/driver"
)

// closed is the error of using something after its Close or Free.
func closed(what string) error { return fmt.Errorf("cuda: %s: %w", what, backend.ErrClosed) }

// capturing is the error of an operation that a graph cannot hold.
func capturing(what string) error { return fmt.Errorf("cuda: %s: %w", what, backend.ErrCapturing) }

// foreign is the error of an operand that belongs to another device.
func foreign(call, operand string) error {
	return &backend.ArgumentError{Kernel: "cuda " + call, Operand: operand, Why: "belongs to another device"}
}

// unsupported says why a variant does not run on a device.
func (v *variant) unsupported(format string, args ...any) error {
	return &backend.UnsupportedError{Backend: name, Kernel: v.binding.Kernel, Variant: v.binding.Variant,
		Reason: fmt.Sprintf(format, args...)}
}

// unusable says why one device cannot be opened.
func unusable(ordinal int, reason string, cause error) error {
	return &backend.UnavailableError{Backend: name, Reason: fmt.Sprintf("device %d: %s", ordinal, reason), Err: cause}
}

// check turns the status of a driver call into an error, and remembers that the device is lost where it says so.
func (d *device) check(call string, s driver.Status) error {
	if s == driver.Success {
		return nil // before anything escapes: this is in every launch
	}
	err := driver.Check(call, s)
	if s.Lost() {
		d.lost.CompareAndSwap(nil, &err)
	}
	return err
}
