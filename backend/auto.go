package backend

import (
	"fmt"
	"strconv"
	"strings"
)

// Decision is what Select found about one backend.
type Decision struct {
	Backend string   `json:"backend"`
	Chosen  bool     `json:"chosen"`
	Device  string   `json:"device,omitempty"` // name of the device chosen, or of the first available
	Ordinal int      `json:"ordinal"`
	UUID    string   `json:"uuid,omitempty"`
	Reason  string   `json:"reason"`            // one line: why chosen, or why not
	Skipped []string `json:"skipped,omitempty"` // devices passed over before the chosen one, with reasons
}

func (d Decision) String() string {
	s := d.Backend + ": " + d.Reason
	for _, k := range d.Skipped {
		s += "; " + k
	}
	return s
}

// SelectError is a request for a backend that does not exist.
type SelectError struct {
	Request string
	Choices []string
}

func (e *SelectError) Error() string {
	return fmt.Sprintf("backend: unknown backend %q: choose one of %s", e.Request, strings.Join(e.Choices, ", "))
}

// Is makes errors.Is(err, ErrArgument) true.
func (e *SelectError) Is(t error) bool { return t == ErrArgument }

// Select opens a device for a request: "auto", a backend's name, or "name:ordinal".
//
// auto tries the registered backends in order and every device of each, and so succeeds
// wherever the host backend is registered. A backend named without an ordinal also tries
// its devices in order; with an ordinal exactly that device must open. The decisions are
// returned in either case, one per backend looked at.
func Select(request string, opts ...Option) (Device, []Decision, error) {
	return selectFrom(All(), request, opts)
}

func selectFrom(all []Backend, request string, opts []Option) (Device, []Decision, error) {
	if request == "auto" {
		return selectAuto(all, opts)
	}
	name, ordinal, exact := request, 0, false
	if n, o, ok := strings.Cut(request, ":"); ok {
		v, err := strconv.ParseUint(o, 10, 31)
		if err != nil {
			return nil, nil, unknown(all, request)
		}
		name, ordinal, exact = n, int(v), true
	}
	for _, b := range all {
		if b.Name() != name {
			continue
		}
		if exact {
			return openExact(b, ordinal, opts)
		}
		d, dec, err := openFirst(b, opts)
		return d, []Decision{dec}, err
	}
	return nil, nil, unknown(all, request)
}

func unknown(all []Backend, request string) error {
	e := &SelectError{Request: request, Choices: []string{"auto"}}
	for _, b := range all {
		e.Choices = append(e.Choices, b.Name(), b.Name()+":N")
	}
	return e
}

func selectAuto(all []Backend, opts []Option) (Device, []Decision, error) {
	var chosen Device
	var out []Decision
	var last error
	for _, b := range all {
		if chosen != nil {
			out = append(out, probeOnly(b))
			continue
		}
		d, dec, err := openFirst(b, opts)
		out = append(out, dec)
		if err != nil {
			last = err
			continue
		}
		chosen = d
	}
	if chosen == nil {
		if last == nil {
			last = &UnavailableError{Backend: "backend", Reason: "no backend is compiled in"}
		}
		return nil, out, last
	}
	return chosen, out, nil
}

func probeOnly(b Backend) Decision {
	infos, err := b.Probe()
	if err != nil {
		return Decision{Backend: b.Name(), Reason: reason(b, err)}
	}
	if len(infos) == 0 {
		return Decision{Backend: b.Name(), Reason: "no device"}
	}
	var blocked []string
	for _, i := range infos {
		if i.Blocked == "" {
			break
		}
		blocked = append(blocked, fmt.Sprintf("not device %d: %s", i.Ordinal, i.Blocked))
	}
	if len(blocked) == len(infos) {
		return Decision{Backend: b.Name(), Reason: strings.Join(blocked, "; ")}
	}
	i := infos[len(blocked)]
	return Decision{Backend: b.Name(), Skipped: blocked, Device: i.Name, Ordinal: i.Ordinal, UUID: i.UUID, Reason: "available: " + i.Name}
}

func openExact(b Backend, ordinal int, opts []Option) (Device, []Decision, error) {
	d, err := b.Open(ordinal, opts...)
	if err != nil {
		return nil, []Decision{{Backend: b.Name(), Ordinal: ordinal, Reason: reason(b, err)}}, err
	}
	i := d.Info()
	return d, []Decision{{Backend: b.Name(), Chosen: true, Device: i.Name, Ordinal: ordinal, UUID: i.UUID, Reason: "chosen: " + i.Name}}, nil
}

// openFirst opens the first device of b that opens, and says why not the earlier ones.
func openFirst(b Backend, opts []Option) (Device, Decision, error) {
	dec := Decision{Backend: b.Name()}
	infos, err := b.Probe()
	if err == nil && len(infos) == 0 {
		err = &UnavailableError{Backend: b.Name(), Reason: "no device"}
	}
	if err != nil {
		dec.Reason = reason(b, err)
		return nil, dec, err
	}
	var refused devicesError
	for _, i := range infos {
		if i.Blocked != "" {
			err = &UnavailableError{Backend: b.Name(), Reason: fmt.Sprintf("device %d: %s", i.Ordinal, i.Blocked)}
		} else {
			var d Device
			if d, err = b.Open(i.Ordinal, opts...); err == nil {
				dec.Chosen, dec.Device, dec.Ordinal, dec.UUID = true, i.Name, i.Ordinal, i.UUID
				dec.Reason = "chosen: " + i.Name
				if len(infos) > 1 {
					dec.Reason = fmt.Sprintf("chosen: device %d, %s", i.Ordinal, i.Name)
				}
				return d, dec, nil
			}
		}
		refused = append(refused, err)
		why := strings.TrimPrefix(reason(b, err), fmt.Sprintf("device %d: ", i.Ordinal))
		dec.Skipped = append(dec.Skipped, fmt.Sprintf("not device %d: %s", i.Ordinal, why))
	}
	if len(refused) == 1 {
		dec.Reason, dec.Skipped = reason(b, refused[0]), nil
		return nil, dec, refused[0]
	}
	dec.Reason = fmt.Sprintf("none of %d devices opens", len(infos))
	return nil, dec, refused
}

// devicesError is why none of a backend's devices opens: their errors in order.
type devicesError []error

func (e devicesError) Error() string {
	var s []string
	for _, err := range e {
		s = append(s, err.Error())
	}
	return strings.Join(s, "; ")
}

func (e devicesError) Unwrap() []error { return e }

// reason is the error's text without the backend's own prefix, which the line already has.
func reason(b Backend, err error) string {
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), b.Name()+": "), "unavailable: ")
}
