package driver

import (
	"strconv"

	"github.com/likbench/likbench/backend"
)

// Status is a result code of the driver.
type Status int32

// Results that the backend or its tests tell apart.
const (
	Success              Status = 0
	InvalidValue         Status = 1
	OutOfMemory          Status = 2
	NotInitialized       Status = 3
	Deinitialized        Status = 4
	StubLibrary          Status = 34
	DeviceUnavailable    Status = 46
	NoDevice             Status = 100
	InvalidDevice        Status = 101
	InvalidContext       Status = 201
	NoBinary             Status = 209
	ECCUncorrectable     Status = 214
	UnsupportedPTX       Status = 222
	NotFound             Status = 500
	NotReady             Status = 600
	IllegalAddress       Status = 700
	LaunchTooManyRes     Status = 701
	LaunchTimeout        Status = 702
	ContextDestroyed     Status = 709
	AssertFailed         Status = 710
	HardwareStack        Status = 714
	IllegalInstruction   Status = 715
	Misaligned           Status = 716
	InvalidAddress       Status = 717
	InvalidPC            Status = 718
	LaunchFailed         Status = 719
	NotSupported         Status = 801
	SystemNotReady       Status = 802
	DriverMismatch       Status = 803
	CompatNotSupported   Status = 804
	CaptureUnsupported   Status = 900
	CaptureInvalidated   Status = 901
	Unknown              Status = 999
	missingSymbol        Status = -1
	missingSymbolMessage        = "function missing in this driver"
)

type statusText struct{ name, words string }

var statusTexts = map[Status]statusText{
	InvalidValue:       {"CUDA_ERROR_INVALID_VALUE", "a parameter is out of range"},
	OutOfMemory:        {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	NotInitialized:     {"CUDA_ERROR_NOT_INITIALIZED", "the driver is not initialised"},
	Deinitialized:      {"CUDA_ERROR_DEINITIALIZED", "the driver is shutting down"},
	StubLibrary:        {"CUDA_ERROR_STUB_LIBRARY", "a stub of the toolkit, not a driver"},
	DeviceUnavailable:  {"CUDA_ERROR_DEVICE_UNAVAILABLE", "device taken by another process or not available"},
	NoDevice:           {"CUDA_ERROR_NO_DEVICE", "no device"},
	InvalidDevice:      {"CUDA_ERROR_INVALID_DEVICE", "no such device"},
	InvalidContext:     {"CUDA_ERROR_INVALID_CONTEXT", "no valid context on this thread"},
	NoBinary:           {"CUDA_ERROR_NO_BINARY_FOR_GPU", "object is for another architecture"},
	ECCUncorrectable:   {"CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable memory error"},
	UnsupportedPTX:     {"CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "driver too old for this PTX"},
	NotFound:           {"CUDA_ERROR_NOT_FOUND", "not found"},
	NotReady:           {"CUDA_ERROR_NOT_READY", "not ready"},
	IllegalAddress:     {"CUDA_ERROR_ILLEGAL_ADDRESS", "a kernel used an illegal address"},
	LaunchTooManyRes:   {"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "a launch wants more registers or shared memory than there are"},
	LaunchTimeout:      {"CUDA_ERROR_LAUNCH_TIMEOUT", "a kernel ran too long"},
	ContextDestroyed:   {"CUDA_ERROR_CONTEXT_IS_DESTROYED", "the context is destroyed"},
	AssertFailed:       {"CUDA_ERROR_ASSERT", "a kernel's assertion failed"},
	HardwareStack:      {"CUDA_ERROR_HARDWARE_STACK_ERROR", "a kernel corrupted its stack"},
	IllegalInstruction: {"CUDA_ERROR_ILLEGAL_INSTRUCTION", "a kernel used an illegal instruction"},
	Misaligned:         {"CUDA_ERROR_MISALIGNED_ADDRESS", "a kernel used a misaligned address"},
	InvalidAddress:     {"CUDA_ERROR_INVALID_ADDRESS_SPACE", "a kernel used the wrong address space"},
	InvalidPC:          {"CUDA_ERROR_INVALID_PC", "a kernel jumped to a wrong place"},
	LaunchFailed:       {"CUDA_ERROR_LAUNCH_FAILED", "a kernel failed"},
	NotSupported:       {"CUDA_ERROR_NOT_SUPPORTED", "not supported"},
	SystemNotReady:     {"CUDA_ERROR_SYSTEM_NOT_READY", "system not ready: the fabric manager is not running"},
	DriverMismatch:     {"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "driver library and kernel module do not match"},
	CompatNotSupported: {"CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "compatibility library does not support this card"},
	CaptureUnsupported: {"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "not allowed while capturing"},
	CaptureInvalidated: {"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "capture is broken"},
	Unknown:            {"CUDA_ERROR_UNKNOWN", "unknown failure of the driver: reload its kernel module or restart"},
	missingSymbol:      {"missing", missingSymbolMessage},
}

// Name is the driver's name of a status.
func (s Status) Name() string {
	if t, ok := statusTexts[s]; ok {
		return t.name
	}
	return "CUDA_ERROR_" + strconv.Itoa(int(s))
}

// Words says in plain words what a status means.
func (s Status) Words() string {
	if t, ok := statusTexts[s]; ok {
		return t.words
	}
	return "error " + strconv.Itoa(int(s))
}

// Lost reports whether the context is unusable after this status.
func (s Status) Lost() bool {
	switch s {
	case Deinitialized, ECCUncorrectable, IllegalAddress, LaunchTimeout, ContextDestroyed, AssertFailed, HardwareStack,
		IllegalInstruction, Misaligned, InvalidAddress, InvalidPC, LaunchFailed, Unknown:
		return true
	}
	return false
}

// Check turns the status of a driver call into nil or a *backend.DriverError.
func Check(call string, s Status) error {
	if s == Success {
		return nil
	}
	e := &backend.DriverError{Backend: "cuda", Call: call, Code: int(s), Name: s.Name()}
	switch {
	case s == OutOfMemory:
		e.Err = backend.ErrOutOfMemory
	case s.Lost():
		e.Err = backend.ErrDeviceLost
	case s == CaptureUnsupported || s == CaptureInvalidated:
		e.Err = backend.ErrCapturing
	case s == missingSymbol:
		e.Err = backend.ErrUnsupported
	}
	return e
}
