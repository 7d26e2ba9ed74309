package simd

// rateLoop is a loop of n passes on registers.
type rateLoop struct {
	run      func(n int)
	perPass  float64 // operations, multiply and add counted apart
	requires string  // feature beyond the level, "" for none
	note     string
}

// memoryLoop moves n bytes, a multiple of 512.
type memoryLoop struct {
	read   func(p *byte, n int)
	copyNT func(dst, src *byte, n int)
}
