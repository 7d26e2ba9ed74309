package driver

import "fmt"

// symbol numbers the functions that are looked up in the library.
type symbol int

const (
	symInit symbol = iota
	symVersion
	symDeviceCount
	symDeviceGet
	symDeviceName
	symDeviceUUID
	symDeviceAttribute
	symDeviceTotalMem
	symPrimaryRetain
	symPrimaryRelease
	symPush
	symPop
	symCurrent
	symMemInfo
	symMemAlloc
	symMemFree
	symHostAlloc
	symHostFree
	symHostPointer
	symCopyIn
	symCopyOut
	symCopy
	symFill
	symStreamCreate
	symStreamDestroy
	symStreamSync
	symStreamWait
	symEventCreate
	symEventDestroy
	symEventRecord
	symEventSync
	symEventElapsed
	symModuleLoad
	symModuleUnload
	symModuleFunction
	symLaunch
	required // the symbols from here on may be missing

	symLaunchEx symbol = iota - 1
	symEncodeTensorMap
	symFuncSetAttribute
	symFuncLoad
	symCaptureBegin
	symCaptureEnd
	symGraphInstantiate
	symGraphLaunch
	symGraphExecDestroy
	symGraphDestroy
	symGraphDependencies
	symbols
)

// symbolNames are the names under which the library exports the functions: those that its header of version 12
// maps the plain names to.
var symbolNames = [symbols]string{
	symInit:             "cuInit",
	symVersion:          "cuDriverGetVersion",
	symDeviceCount:      "cuDeviceGetCount",
	symDeviceGet:        "cuDeviceGet",
	symDeviceName:       "cuDeviceGetName",
	symDeviceUUID:       "cuDeviceGetUuid",
	symDeviceAttribute:  "cuDeviceGetAttribute",
	symDeviceTotalMem:   "cuDeviceTotalMem_v2",
	symPrimaryRetain:    "cuDevicePrimaryCtxRetain",
	symPrimaryRelease:   "cuDevicePrimaryCtxRelease_v2",
	symPush:             "cuCtxPushCurrent_v2",
	symPop:              "cuCtxPopCurrent_v2",
	symCurrent:          "cuCtxGetCurrent",
	symMemInfo:          "cuMemGetInfo_v2",
	symMemAlloc:         "cuMemAlloc_v2",
	symMemFree:          "cuMemFree_v2",
	symHostAlloc:        "cuMemHostAlloc",
	symHostFree:         "cuMemFreeHost",
	symHostPointer:      "cuMemHostGetDevicePointer_v2",
	symCopyIn:           "cuMemcpyHtoDAsync_v2",
	symCopyOut:          "cuMemcpyDtoHAsync_v2",
	symCopy:             "cuMemcpyDtoDAsync_v2",
	symFill:             "cuMemsetD8Async",
	symStreamCreate:     "cuStreamCreate",
	symStreamDestroy:    "cuStreamDestroy_v2",
	symStreamSync:       "cuStreamSynchronize",
	symStreamWait:       "cuStreamWaitEvent",
	symEventCreate:      "cuEventCreate",
	symEventDestroy:     "cuEventDestroy_v2",
	symEventRecord:      "cuEventRecord",
	symEventSync:        "cuEventSynchronize",
	symEventElapsed:     "cuEventElapsedTime",
	symModuleLoad:       "cuModuleLoadData",
	symModuleUnload:     "cuModuleUnload",
	symModuleFunction:   "cuModuleGetFunction",
	symLaunch:           "cuLaunchKernel",
	symLaunchEx:         "cuLaunchKernelEx",
	symEncodeTensorMap:  "cuTensorMapEncodeTiled",
	symFuncSetAttribute: "cuFuncSetAttribute",
	symFuncLoad:         "cuFuncLoad",
	symCaptureBegin:     "cuStreamBeginCapture_v2",
	symCaptureEnd:       "cuStreamEndCapture",
	symGraphInstantiate: "cuGraphInstantiateWithFlags",
	symGraphLaunch:      "cuGraphLaunch",
	symGraphExecDestroy: "cuGraphExecDestroy",
	symGraphDestroy:     "cuGraphDestroy",

	// Never called: drivers that have it record early starts as what they are.
	symGraphDependencies: "cuGraphAddDependencies_v2",
}

// featureSymbols are what a feature needs all of.
var featureSymbols = [features][]symbol{
	LaunchEx:   {symLaunchEx},
	TensorMaps: {symEncodeTensorMap},
	SharedOpt:  {symFuncSetAttribute},
	EagerLoad:  {symFuncLoad},
	EarlyStart: {symLaunchEx, symGraphDependencies},
	Graphs: {symCaptureBegin, symCaptureEnd, symGraphInstantiate, symGraphLaunch,
		symGraphExecDestroy, symGraphDestroy},
}

// MissingSymbolError is a library that lacks a function every supported driver has.
type MissingSymbolError struct{ Symbol string }

func (e *MissingSymbolError) Error() string {
	return fmt.Sprintf("cuda: driver lacks %s: too old, or not NVIDIA's", e.Symbol)
}

// resolve fills a table by name; lookup returns 0 for what is missing.
func resolve(lookup func(name string) uintptr) (table [symbols]uintptr, err error) {
	for i := range symbols {
		table[i] = lookup(symbolNames[i])
		if table[i] == 0 && i < required && err == nil {
			err = &MissingSymbolError{Symbol: symbolNames[i]}
		}
	}
	return table, err
}
