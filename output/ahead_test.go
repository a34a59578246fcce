package output

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// What is read ahead is what is read, with the error at its end; whoever stops early leaves no goroutine behind.
func TestReadAhead(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("all work and no play "), 100_000)
	broken := errors.New("broken off")
	for _, want := range []error{nil, broken, io.ErrUnexpectedEOF} {
		from := io.Reader(bytes.NewReader(data))
		if want != nil {
			from = io.MultiReader(from, iotest.ErrReader(want))
		}
		a := readAhead(from)
		got, err := io.ReadAll(a)
		if err != want || !bytes.Equal(got, data) {
			t.Errorf("%d bytes of %d and %v, want %v", len(got), len(data), err, want)
		}
		a.stop()
	}
	a := readAhead(bytes.NewReader(data))
	if _, err := io.ReadFull(a, make([]byte, 10)); err != nil {
		t.Error(err)
	}
	a.stop()
}
