package plaid

// Measured is the chosen screen, the nanoseconds that a multiply-add of an exact score and one
// of the screen were measured to take, and the largest inverse norm.
func (ix *Index) Measured() (Screen, float64, float64, float32) {
	sc := &ix.screens
	return sc.chosen, 1e9 * sc.exactTime, 1e9 * sc.screenTime, ix.invMax
}

// Split says whether a searcher halves large batches, as it does on a device with memory of
// its own.
func (s *Searcher) Split(on bool) { s.split = on }
