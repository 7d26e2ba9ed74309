package simd

// approxUnits are the levels' arithmetic by variant; none in this build.
var approxUnits map[string]*approxUnit
