package backend

import (
	"errors"
	"fmt"
	"strings"
)

// Conditions that callers test with errors.Is.
var (
	ErrUnavailable = errors.New("unavailable")                 // no driver, wrong OS, no device: try the next backend
	ErrUnsupported = errors.New("unsupported")                 // not on this device: fall back or report
	ErrArgument    = errors.New("bad argument")                // shapes, dtypes, aliasing, data: fix the call
	ErrOutOfMemory = errors.New("out of memory")               // does not fit now: reclaim
	ErrTooLarge    = errors.New("larger than the device")      // never fits: split
	ErrBudget      = errors.New("over budget")                 // over the configured ceiling: stop
	ErrDeviceLost  = errors.New("device lost")                 // unusable after a fault: reopen
	ErrCapturing   = errors.New("not allowed while capturing") // a graph is being recorded
	ErrClosed      = errors.New("used after close")
)

// UnavailableError says why a backend or device cannot be used here.
type UnavailableError struct {
	Backend, Reason string
	Err             error
}

func (e *UnavailableError) Error() string {
	s := e.Backend + ": unavailable: " + e.Reason
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is makes errors.Is(err, ErrUnavailable) true.
func (e *UnavailableError) Is(t error) bool { return t == ErrUnavailable }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// UnsupportedError says why a kernel variant does not run on this device or with these operands.
type UnsupportedError struct{ Backend, Kernel, Variant, Reason string }

func (e *UnsupportedError) Error() string {
	s := e.Backend + ": " + e.Kernel
	if e.Variant != "" {
		s += "/" + e.Variant
	}
	return s + ": unsupported: " + e.Reason
}

// Is makes errors.Is(err, ErrUnsupported) true.
func (e *UnsupportedError) Is(t error) bool { return t == ErrUnsupported }

// ArgumentError names the operand, and the axis or element, of a wrong call or wrong data.
type ArgumentError struct {
	Kernel, Operand, Axis, Why string
	Want, Got                  int64 // Got alone, with Axis "element", is the index of a data error
}

func (e *ArgumentError) Error() string {
	var b strings.Builder
	b.WriteString("kernel: " + e.Kernel)
	if e.Operand != "" {
		b.WriteString(": operand " + e.Operand)
	}
	b.WriteString(": " + e.Why)
	switch {
	case e.Axis == "element":
		fmt.Fprintf(&b, " at element %d", e.Got)
	case e.Axis != "":
		fmt.Fprintf(&b, ": axis %s is %d, want %d", e.Axis, e.Got, e.Want)
	case e.Want != 0 || e.Got != 0:
		fmt.Fprintf(&b, " (got %d, want %d)", e.Got, e.Want)
	}
	return b.String()
}

// Is makes errors.Is(err, ErrArgument) true.
func (e *ArgumentError) Is(t error) bool { return t == ErrArgument }

// AllocError is a refused allocation; Err is ErrOutOfMemory, ErrTooLarge or ErrBudget.
type AllocError struct {
	Backend                        string
	Requested, Live, Budget, Total int64
	Err                            error
}

func (e *AllocError) Error() string {
	s := fmt.Sprintf("%s: alloc %s: %v (live %s", e.Backend, FormatBytes(e.Requested), e.Err, FormatBytes(e.Live))
	if e.Budget != 0 {
		s += ", budget " + FormatBytes(e.Budget)
	}
	if e.Total > 0 {
		s += " of " + FormatBytes(e.Total)
	}
	return s + ")"
}

// Unwrap returns the condition.
func (e *AllocError) Unwrap() error { return e.Err }

// DriverError is a status returned by a driver call.
type DriverError struct {
	Backend, Call string
	Code          int
	Name          string
	Err           error // condition it stands for, if any: ErrDeviceLost, ErrOutOfMemory
}

func (e *DriverError) Error() string {
	return fmt.Sprintf("%s: %s: %s (%d)", e.Backend, e.Call, e.Name, e.Code)
}

// Unwrap returns the condition.
func (e *DriverError) Unwrap() error { return e.Err }

// FormatBytes prints a byte count with a binary unit.
func FormatBytes(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	v, i := float64(n)/unit, 0
	for v >= unit && i < 4 {
		v, i = v/unit, i+1
	}
	return fmt.Sprintf("%.1f %ciB", v, "KMGTP"[i])
}
