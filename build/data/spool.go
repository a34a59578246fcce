package data

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// spool collects the rows of a table of a snapshot in temporary files of each format, so that no table is in memory.
type spool struct {
	table   *Table
	files   []*spoolFile
	parquet *ParquetWriter
	csv     *CSVWriter // nil for a table by day
	sqlite  *SQLiteAppender
	rows    int64
}

// spoolFile is a temporary file.
type spoolFile struct {
	format string
	*os.File
	buffer *bufio.Writer
}

const bufferBytes = 64 << 10 // of a temporary file

func newSpoolFile(format, path string) (*spoolFile, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &spoolFile{format, f, bufio.NewWriterSize(f, bufferBytes)}, nil
}

// newSpool creates the files of a table. path returns the path of a temporary file. sqlite may be nil.
func newSpool(t *Table, sqlite *SQLiteAppender, path func(name string) string) (s *spool, err error) {
	s = &spool{table: t, sqlite: sqlite}
	formats := []string{"parquet", "csv"}
	if t.Days {
		formats = formats[:1]
	}
	for _, format := range formats {
		f, err := newSpoolFile(format, path(t.Name+"."+format))
		if err != nil {
			s.discard()
			return nil, err
		}
		s.files = append(s.files, f)
	}
	s.parquet = NewParquetWriter(s.files[0].buffer, t)
	if !t.Days {
		if s.csv, err = NewCSVWriter(s.files[1].buffer, t); err != nil {
			s.discard()
			return nil, err
		}
	}
	return s, nil
}

// write adds a row to each format.
func (s *spool) write(ctx context.Context, row Row) error {
	s.rows++
	if err := s.parquet.Write(row); err != nil {
		return err
	}
	if s.csv != nil {
		if err := s.csv.Write(row); err != nil {
			return err
		}
	}
	if s.sqlite != nil {
		return s.sqlite.Write(ctx, row)
	}
	return nil
}

// publish ends the files, gives each to add and removes it.
func (s *spool) publish(add func(f *spoolFile) error) error {
	defer s.discard()
	err := s.parquet.Close()
	if s.csv != nil {
		err = errors.Join(err, s.csv.Close())
	}
	if err != nil {
		return err
	}
	for _, f := range s.files {
		if err := errors.Join(f.buffer.Flush(), rewind(f.File)); err != nil {
			return fmt.Errorf("write %s: %w", s.table.Name, err)
		}
		if err := add(f); err != nil {
			return err
		}
	}
	return nil
}

func rewind(f *os.File) error {
	_, err := f.Seek(0, io.SeekStart)
	return err
}

// discard removes the files.
func (s *spool) discard() {
	for _, f := range s.files {
		_ = f.Close()
		_ = os.Remove(f.Name()) // the next build removes what is left
	}
	s.files = nil
}
