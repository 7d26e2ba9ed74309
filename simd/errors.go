package simd

import (
	"fmt"

	"github.com/likbench/likbench/backend"
)

// closed is the error of using something after its Close or Free.
func closed(what string) error { return fmt.Errorf("simd: %s: %w", what, backend.ErrClosed) }

// capturing is the error of an operation that a graph cannot hold.
func capturing(what string) error { return fmt.Errorf("simd: %s: %w", what, backend.ErrCapturing) }

// foreign is the error of an operand that belongs to another device.
func foreign(call, operand string) error {
	return &backend.ArgumentError{Kernel: "simd " + call, Operand: operand, Why: "belongs to another device"}
}

// unavailable says why the backend cannot be used at all.
func unavailable(reason string) error {
	return &backend.UnavailableError{Backend: name, Reason: reason}
}
