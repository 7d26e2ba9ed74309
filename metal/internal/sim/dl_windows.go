package sim

// Available refuses windows before either is called.
func dlopen(string) (uintptr, error)         { return 0, ErrNoCompiler }
func dlsym(uintptr, string) (uintptr, error) { return 0, ErrNoCompiler }
