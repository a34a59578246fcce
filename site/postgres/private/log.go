package private

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
)

const (
	logSize  = 4 << 20 // bytes of one log file; there are at most two
	tailSize = 4 << 10 // bytes kept in memory for error messages
)

// rotatingLog stores the server's output in a file, which is renamed to *.1 when it is full, and keeps the end in
// memory. The server writes into a pipe that this program reads, so that no server setting can let the log grow.
type rotatingLog struct {
	path string

	mu   sync.Mutex
	file *os.File
	size int64
	tail tailBuffer
}

func openLog(path string) (*rotatingLog, error) {
	l := &rotatingLog{path: path}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *rotatingLog) open() error {
	f, err := openOwn(l.path, os.O_APPEND)
	if err != nil {
		return fmt.Errorf("open the server's log: %w", err)
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return fmt.Errorf("open the server's log: %w", err)
	}
	l.file, l.size = f, st.Size()
	return nil
}

// Write never fails: if the disk is full, the pipe must still be read, or the server would block.
func (l *rotatingLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail.Write(b)
	if l.file != nil && l.size+int64(len(b)) > logSize {
		l.file.Close()
		l.file = nil
		if err := os.Rename(l.path, l.path+".1"); err == nil {
			_ = l.open() // without a file, only the tail is kept
		}
	}
	if l.file != nil {
		n, _ := l.file.Write(b)
		l.size += int64(n)
	}
	return len(b), nil
}

// Tail returns the end of the server's output, for an error message.
func (l *rotatingLog) Tail() string { return l.tail.String() }

func (l *rotatingLog) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

// tailBuffer keeps the end of a program's output.
type tailBuffer struct {
	mu  sync.Mutex
	end []byte
}

func (b *tailBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end = append(b.end, p...)
	if n := len(b.end); n > tailSize {
		b.end = append(b.end[:0], b.end[n-tailSize:]...)
	}
	return len(p), nil
}

func (b *tailBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return lastLines(b.end)
}

// lastLines returns the end of a program's output, for an error message.
func lastLines(out []byte) string {
	const most = 12
	lines := strings.Split(string(bytes.TrimSpace(out)), "\n")
	if n := len(lines); n > most {
		lines = lines[n-most:]
	}
	return strings.ToValidUTF8(strings.Join(lines, "\n"), "?")
}
