package backend

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// pretend is a backend of devices that open or say why not.
type pretend struct {
	name    string
	probe   error
	devices []pretendDevice
	opened  *[]string // names of what was opened, in order
}

type pretendDevice struct {
	Device
	info Info
	err  error
	opts OpenConfig
}

func (d *pretendDevice) Info() Info { return d.info }

func (b *pretend) Name() string        { return b.name }
func (b *pretend) Bindings() []Binding { return nil }
func (b *pretend) Probe() ([]Info, error) {
	var infos []Info
	for i := range b.devices {
		infos = append(infos, b.devices[i].info)
	}
	return infos, b.probe
}

func (b *pretend) Open(ordinal int, opts ...Option) (Device, error) {
	for i := range b.devices {
		d := &b.devices[i]
		if d.info.Ordinal != ordinal {
			continue
		}
		if d.err != nil {
			return nil, d.err
		}
		*b.opened = append(*b.opened, d.info.Name)
		d.opts = Configure(opts)
		return d, nil
	}
	return nil, &UnavailableError{Backend: b.name, Reason: "no such device"}
}

func taken(name string, err error) pretendDevice {
	return pretendDevice{info: Info{Name: name}, err: err}
}

// machine has cuda with the given devices, metal that is absent, and host.
func machine(probe error, cuda ...pretendDevice) ([]Backend, *[]string) {
	var opened []string
	for i := range cuda {
		cuda[i].info.Ordinal = i
		cuda[i].info.UUID = "GPU-" + cuda[i].info.Name
	}
	return []Backend{
		&pretend{name: "cuda", probe: probe, devices: cuda, opened: &opened},
		&pretend{name: "metal", probe: &UnavailableError{Backend: "metal", Reason: "linux has no Metal"}, opened: &opened},
		&pretend{name: "host", devices: []pretendDevice{{info: Info{Name: "reference"}}}, opened: &opened},
	}, &opened
}

// lines are the decisions as they are printed.
func lines(ds []Decision) []string {
	var out []string
	for _, d := range ds {
		out = append(out, d.String())
	}
	return out
}

var (
	errTaken  = &UnavailableError{Backend: "cuda", Reason: "device 0: taken by another process", Err: &DriverError{Backend: "cuda", Call: "cuCtxCreate", Code: 46, Name: "CUDA_ERROR_DEVICE_UNAVAILABLE"}}
	errFull   = &UnavailableError{Backend: "cuda", Reason: "device 1: 40.0 MiB free of 128.0 GiB"}
	errDriver = &UnavailableError{Backend: "cuda", Reason: "libcuda.so.1 not found"}
)

const metalLine = "metal: linux has no Metal"

func TestAuto(t *testing.T) {
	blocked := func(name string) pretendDevice {
		return pretendDevice{info: Info{Name: name, Blocked: "compute mode is prohibited"}, err: errors.New("was opened")}
	}
	fine := func(name string) pretendDevice { return pretendDevice{info: Info{Name: name}} }
	const takenLine = "not device 0: taken by another process: cuda: cuCtxCreate: CUDA_ERROR_DEVICE_UNAVAILABLE (46)"
	for _, c := range []struct {
		name    string
		probe   error
		devices []pretendDevice
		opened  string
		want    []string
	}{
		{"first", nil, []pretendDevice{fine("a")}, "a", []string{"cuda: chosen: a", metalLine, "host: available: reference"}},
		{"first of two", nil, []pretendDevice{fine("a"), fine("b")}, "a", []string{"cuda: chosen: device 0, a", metalLine, "host: available: reference"}},
		{"no driver", errDriver, nil, "reference", []string{"cuda: libcuda.so.1 not found", metalLine, "host: chosen: reference"}},
		{"no device", nil, nil, "reference", []string{"cuda: no device", metalLine, "host: chosen: reference"}},
		{"first taken", nil, []pretendDevice{taken("a", errTaken), fine("b")}, "b", []string{"cuda: chosen: device 1, b; " + takenLine, metalLine, "host: available: reference"}},
		{"first prohibited", nil, []pretendDevice{blocked("a"), fine("b")}, "b",
			[]string{"cuda: chosen: device 1, b; not device 0: compute mode is prohibited", metalLine, "host: available: reference"}},
		{"both taken", nil, []pretendDevice{taken("a", errTaken), taken("b", errFull)}, "reference",
			[]string{"cuda: none of 2 devices opens; " + takenLine + "; not device 1: 40.0 MiB free of 128.0 GiB", metalLine, "host: chosen: reference"}},
		{"the only one prohibited", nil, []pretendDevice{blocked("a")}, "reference",
			[]string{"cuda: device 0: compute mode is prohibited", metalLine, "host: chosen: reference"}},
		{"another error", nil, []pretendDevice{taken("a", &DriverError{Backend: "cuda", Call: "cuInit", Code: 999, Name: "CUDA_ERROR_UNKNOWN"})}, "reference",
			[]string{"cuda: cuInit: CUDA_ERROR_UNKNOWN (999)", metalLine, "host: chosen: reference"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, opened := machine(c.probe, c.devices...)
			dev, ds, err := selectFrom(all, "auto", []Option{WithBudget(7)})
			require.NoError(t, err)
			require.Equal(t, c.want, lines(ds))
			require.Equal(t, c.opened, dev.Info().Name)
			require.Equal(t, []string{c.opened}, *opened, "only the device used is opened")
			require.EqualValues(t, 7, dev.(*pretendDevice).opts.Budget)
			chosen := 0
			for _, d := range ds {
				if d.Chosen {
					chosen++
					require.Equal(t, dev.Info().Name, d.Device)
					require.Equal(t, dev.Info().Ordinal, d.Ordinal)
					require.Equal(t, dev.Info().UUID, d.UUID)
				}
			}
			require.Equal(t, 1, chosen)
		})
	}
}

// Backends after the chosen one are only looked at.
func TestAutoLooksAtTheRest(t *testing.T) {
	all, opened := machine(nil, pretendDevice{info: Info{Name: "a", Blocked: "full"}}, pretendDevice{info: Info{Name: "b"}})
	look := func() string {
		all[0], all[2] = all[2], all[0]
		defer func() { all[0], all[2] = all[2], all[0] }()
		dev, ds, err := selectFrom(all, "auto", nil)
		require.NoError(t, err)
		require.Equal(t, "reference", dev.Info().Name)
		return ds[2].String()
	}
	require.Equal(t, "cuda: available: b; not device 0: full", look())
	all[0].(*pretend).devices[1].info.Blocked = "old"
	require.Equal(t, "cuda: not device 0: full; not device 1: old", look())
	all[0].(*pretend).devices = nil
	require.Equal(t, "cuda: no device", look())
	all[0].(*pretend).probe = errDriver
	require.Equal(t, "cuda: libcuda.so.1 not found", look())
	require.Equal(t, []string{"reference", "reference", "reference", "reference"}, *opened)
}

func TestAutoWithNothing(t *testing.T) {
	dev, ds, err := selectFrom(nil, "auto", nil)
	require.Nil(t, dev)
	require.Empty(t, ds)
	require.EqualError(t, err, "backend: unavailable: no backend is compiled in")
	require.ErrorIs(t, err, ErrUnavailable)
	all, _ := machine(errDriver)
	dev, ds, err = selectFrom(all[:2], "auto", nil)
	require.Nil(t, dev)
	require.Len(t, ds, 2)
	require.ErrorIs(t, err, ErrUnavailable)
}

func TestNamed(t *testing.T) {
	all, opened := machine(nil, taken("a", errTaken), pretendDevice{info: Info{Name: "b"}})
	dev, ds, err := selectFrom(all, "cuda", nil)
	require.NoError(t, err)
	require.Equal(t, "b", dev.Info().Name)
	require.Len(t, ds, 1)
	require.Equal(t, 1, ds[0].Ordinal)

	// A device asked for by number fails with its own reason and does not wander.
	*opened = nil
	dev, ds, err = selectFrom(all, "cuda:0", nil)
	require.Nil(t, dev)
	require.Equal(t, error(errTaken), err)
	require.Equal(t, []string{"cuda: device 0: taken by another process: cuda: cuCtxCreate: CUDA_ERROR_DEVICE_UNAVAILABLE (46)"}, lines(ds))
	require.Empty(t, *opened)
	dev, ds, err = selectFrom(all, "cuda:1", nil)
	require.NoError(t, err)
	require.Equal(t, "b", dev.Info().Name)
	require.Equal(t, Decision{Backend: "cuda", Chosen: true, Device: "b", Ordinal: 1, UUID: "GPU-b", Reason: "chosen: b"}, ds[0])
	_, _, err = selectFrom(all, "cuda:9", nil)
	require.EqualError(t, err, "cuda: unavailable: no such device")

	_, ds, err = selectFrom(all, "metal", nil)
	require.EqualError(t, err, "metal: unavailable: linux has no Metal")
	require.Equal(t, []string{metalLine}, lines(ds))

	all, _ = machine(nil, taken("a", errTaken), taken("b", errFull))
	_, _, err = selectFrom(all, "cuda", nil)
	require.EqualError(t, err, errTaken.Error()+"; "+errFull.Error())
	require.ErrorIs(t, err, ErrUnavailable)
	var d *DriverError
	require.ErrorAs(t, err, &d)
}

func TestUnknownNames(t *testing.T) {
	all, opened := machine(nil, pretendDevice{info: Info{Name: "a"}})
	for _, request := range []string{"CUDA", "", "cuda,simd", "cuda:", "cuda:x", "cuda:-1", "cuda:1.5", "cuda:+1", "cuda: 1", "auto:1", " cuda", "Auto", "nosuch", "nosuch:1"} {
		dev, ds, err := selectFrom(all, request, nil)
		require.Nil(t, dev)
		require.Empty(t, ds)
		var e *SelectError
		require.ErrorAs(t, err, &e, request)
		require.Equal(t, SelectError{request, []string{"auto", "cuda", "cuda:N", "metal", "metal:N", "host", "host:N"}}, *e)
		require.ErrorIs(t, err, ErrArgument)
		require.ErrorContains(t, err, "choose one of auto, cuda, cuda:N, metal, metal:N, host, host:N")
	}
	require.Empty(t, *opened)
}

// onEmptyRegistry runs f with no backend registered.
func onEmptyRegistry(t *testing.T, f func()) {
	t.Helper()
	was := registry.all
	registry.all = nil
	defer func() { registry.all = was }()
	f()
}

func TestRegister(t *testing.T) {
	onEmptyRegistry(t, func() {
		all, _ := machine(nil, pretendDevice{info: Info{Name: "a"}})
		Register(40, all[2])
		Register(10, all[0])
		Register(40, all[1]) // equal ranks keep their order
		var names []string
		for _, b := range All() {
			names = append(names, b.Name())
		}
		require.Equal(t, []string{"cuda", "host", "metal"}, names)
		require.PanicsWithValue(t, "backend: host registered twice", func() { Register(1, all[2]) })
		require.Len(t, All(), 3)
		dev, _, err := Select("auto")
		require.NoError(t, err)
		require.Equal(t, "a", dev.Info().Name)
		All()[0] = nil
		require.NotNil(t, All()[0], "the list is a copy")
	})
}
