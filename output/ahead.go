package output

import "io"

// aheadReader reads what another goroutine has read before.
type aheadReader struct {
	full, free chan []byte
	now        []byte // the rest of the piece that is read
	piece      []byte // all of it
	err        error  // of the other goroutine, once full is closed
}

const aheadPiece = 256 << 10 // bytes

// readAhead reads from r in a goroutine of its own, until its end or stop, while what came is worked on.
func readAhead(r io.Reader) *aheadReader {
	a := &aheadReader{full: make(chan []byte, 2), free: make(chan []byte, 3)}
	for range cap(a.free) {
		a.free <- make([]byte, aheadPiece)
	}
	go func() {
		defer close(a.full)
		for piece := range a.free {
			var n, m int
			for a.err == nil && n < len(piece) {
				m, a.err = r.Read(piece[n:])
				n += m
			}
			if n > 0 {
				a.full <- piece[:n]
			}
			if a.err != nil {
				return
			}
		}
		a.err = io.ErrClosedPipe
	}()
	return a
}

// Read implements io.Reader.
func (a *aheadReader) Read(p []byte) (int, error) {
	if len(a.now) == 0 {
		if a.piece != nil {
			a.free <- a.piece[:aheadPiece]
			a.piece = nil
		}
		piece, ok := <-a.full
		if !ok {
			return 0, a.err
		}
		a.piece, a.now = piece, piece
	}
	n := copy(p, a.now)
	a.now = a.now[n:]
	return n, nil
}

// stop waits for the other goroutine. Nothing is read after it.
func (a *aheadReader) stop() {
	close(a.free)
	for range a.full {
	}
}
