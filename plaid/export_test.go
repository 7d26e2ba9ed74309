package plaid

// Split says whether a searcher halves large batches, as it does on a device with memory of
// its own.
func (s *Searcher) Split(on bool) { s.split = on }
