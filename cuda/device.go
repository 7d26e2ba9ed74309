package cuda

import "github.com/likbench/likbench/backend"

type device struct{ backend.Device }

func (d *device) free(b *buffer) error { return nil }
