package plaid

// Split makes a searcher halve large batches, as it does on a device with memory of its own.
func (s *Searcher) Split() { s.split = true }
