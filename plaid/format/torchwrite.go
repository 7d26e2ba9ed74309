package format

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"errors"
	"strconv"
)

// torchPart is a tensor to be written.
type torchPart struct {
	dtype string
	shape []int
	fill  func(b *bufio.Writer) error
}

var storageNames = map[string]string{"f2": "HalfStorage", "f4": "FloatStorage", "i4": "IntStorage", "i8": "LongStorage", "u1": "ByteStorage"}

// torch writes a .pt file of one tensor, or of a tuple of two.
func (w *writer) torch(name string, parts ...torchPart) error {
	return w.file(name, func(b *bufio.Writer) error {
		z := zip.NewWriter(b)
		entry := func(name string, fill func(b *bufio.Writer) error) error {
			e, err := z.CreateHeader(&zip.FileHeader{Name: "archive/" + name, Method: zip.Store})
			if err != nil {
				return err
			}
			buffered := bufio.NewWriter(e)
			return errors.Join(fill(buffered), buffered.Flush())
		}
		constant := func(text string) func(b *bufio.Writer) error {
			return func(b *bufio.Writer) error {
				_, err := b.WriteString(text)
				return err
			}
		}
		err := errors.Join(entry("data.pkl", constant(pickleText(parts))), entry("byteorder", constant("little")))
		for i, p := range parts {
			err = errors.Join(err, entry("data/"+strconv.Itoa(i), p.fill))
		}
		return errors.Join(err, entry("version", constant("3\n")), z.Close())
	})
}

// pickleText is a pickle of protocol 2 as torch.save makes it, without the memo.
func pickleText(parts []torchPart) string {
	p := []byte{0x80, 2}
	str := func(s string) {
		p = append(p, 'X')
		p = append(binary.LittleEndian.AppendUint32(p, uint32(len(s))), s...)
	}
	num := func(n int) {
		switch {
		case n < 1<<8:
			p = append(p, 'K', byte(n))
		case n < 1<<16:
			p = binary.LittleEndian.AppendUint16(append(p, 'M'), uint16(n))
		case n < 1<<31:
			p = binary.LittleEndian.AppendUint32(append(p, 'J'), uint32(n))
		default:
			p = binary.LittleEndian.AppendUint64(append(p, 0x8a, 8), uint64(n))
		}
	}
	for i, part := range parts {
		n := 1
		strides := make([]int, len(part.shape))
		for axis := len(part.shape) - 1; axis >= 0; axis-- {
			strides[axis] = n
			n *= part.shape[axis]
		}
		p = append(p, "ctorch._utils\n_rebuild_tensor_v2\n(("...)
		str("storage")
		p = append(p, "ctorch\n"+storageNames[part.dtype]+"\n"...)
		str(strconv.Itoa(i))
		str("cpu")
		num(n)
		p = append(p, "tQ"...)
		num(0)
		for _, axes := range [][]int{part.shape, strides} {
			p = append(p, '(')
			for _, d := range axes {
				num(d)
			}
			p = append(p, 't')
		}
		p = append(p, "\x89ccollections\nOrderedDict\n)RtR"...)
	}
	if len(parts) == 2 {
		p = append(p, 0x86)
	}
	return string(append(p, '.'))
}

// colBERT writes the layout of ColBERTv2.
func (w *writer) colBERT() error {
	s := w.source
	floats := func(name, dtype string, shape []int, v []float32) torchPart {
		return torchPart{dtype, shape, func(b *bufio.Writer) error { return w.writeFloats(b, name, dtype, v) }}
	}
	average, _ := w.measured()
	if err := errors.Join(
		w.torch("centroids.pt", floats("centroids.pt", "f2", []int{s.K(), s.Dim()}, s.Centroids())),
		w.torch("buckets.pt", floats("buckets.pt", "f4", []int{len(s.Cutoffs())}, s.Cutoffs()),
			floats("buckets.pt", "f4", []int{len(s.Weights())}, s.Weights())),
		w.torch("avg_residual.pt", floats("avg_residual.pt", "f4", []int{len(average)}, average)),
		w.listFiles(),
	); err != nil {
		return err
	}
	for i, c := range w.chunks {
		name := strconv.Itoa(i)
		if err := errors.Join(
			w.text("doclens."+name+".json", w.lengthsText(c)),
			w.torch(name+".codes.pt", torchPart{"i4", []int{int(c.tokens)}, func(b *bufio.Writer) error { return w.codes(b, c, 4) }}),
			w.torch(name+".residuals.pt", torchPart{"u1", []int{int(c.tokens), w.row}, func(b *bufio.Writer) error { return w.residuals(b, c) }}),
			w.text(name+".metadata.json", w.chunkMetadata(c)),
		); err != nil {
			return err
		}
	}
	return errors.Join(w.text("plan.json", w.planText()), w.text(metadataName, w.metadata()))
}
