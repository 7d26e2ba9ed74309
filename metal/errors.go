package metal

import (
	"errors"
	"fmt"

	"github.com/likbench/likbench/backend"
	"github.com/likbench/likbench/metal/mtl"
)

// closed is the error of using something after its Close or Free.
func closed(what string) error { return fmt.Errorf("metal: %s: %w", what, backend.ErrClosed) }

// foreign is the error of an operand that belongs to another device.
func foreign(call, operand string) error {
	return &backend.ArgumentError{Kernel: "metal " + call, Operand: operand, Why: "belongs to another device"}
}

// unavailable says why there is no device.
func unavailable(reason string, cause error) error {
	return &backend.UnavailableError{Backend: name, Reason: reason, Err: cause}
}

// unsupported says why a variant does not run on a device.
func (v *variant) unsupported(format string, args ...any) error {
	return &backend.UnsupportedError{Backend: name, Kernel: v.binding.Kernel, Variant: v.binding.Variant, Reason: fmt.Sprintf(format, args...)}
}

// driverError gives a failure of Metal its class. kernels are those in the command buffer that failed.
func driverError(err error, kernels string) error {
	var e *mtl.Error
	if !errors.As(err, &e) {
		return err
	}
	out := &backend.DriverError{Backend: name, Call: e.Call, Code: int(e.Code), Name: e.Text}
	if kernels != "" {
		out.Call = kernels
	}
	if e.Domain != mtl.CommandDomain {
		return out
	}
	switch e.Code {
	case mtl.CommandOutOfMemory:
		out.Err = backend.ErrOutOfMemory
	case mtl.CommandPageFault, mtl.CommandAccessRevoked, mtl.CommandDeviceRemoved:
		out.Err = backend.ErrDeviceLost
	}
	return out
}
