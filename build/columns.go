package build

// columnBuffers contain the values of each column of a list, separated by commas. Columns are small and are kept until
// all rows are written.
type columnBuffers [][]byte

// encodedRow is a row of a list and its values in the list's columns.
type encodedRow struct {
	row    []byte
	values [][]byte
}

// addValues adds the values of a row.
func (c columnBuffers) addValues(values [][]byte) {
	for i, v := range values {
		if len(c[i]) > 0 {
			c[i] = append(c[i], ',')
		}
		c[i] = append(c[i], v...)
	}
}

// write writes the ith column.
func (c columnBuffers) write(i int, key string, add addFunc) error {
	return addFile(key, add, func(b []byte) ([]byte, error) {
		return append(append(append(b, `{"data":[`...), c[i]...), "]}\n"...), nil
	})
}
