package render

import "tollbook/site"

// AppendFrameOf appends what f.List returns for a list whose rows and meta are not encoded yet.
func AppendFrameOf[T any](b []byte, f site.Framing, list []T, meta any) (_ []byte, err error) {
	beforeRows, beforeMeta := f.Around()
	b = append(b, beforeRows...)
	for i := range list {
		if b, err = AppendRow(b, &list[i]); err != nil {
			return b, err
		}
		b = site.AppendRowEnd(b, i == len(list)-1)
	}
	if b, err = AppendRow(append(b, beforeMeta...), &meta); err != nil {
		return b, err
	}
	return site.AppendListEnd(b), nil
}
