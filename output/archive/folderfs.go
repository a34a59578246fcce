package archive

import (
	"cmp"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// open opens a folder of a tree that is not in a file system. Every prefix of a name that ends before a slash is a
// folder.
func (d *directory) open(name string) (fs.File, error) {
	prefix := name + "/"
	if name == "." {
		prefix = ""
	}
	f := &folderFile{info: fileInfo{name: name, mode: fs.ModeDir | 0o555}}
	c := cursor{of: d}
	for i, full, ok := c.next(); ok; i, full, ok = c.next() {
		rest, in := strings.CutPrefix(string(full), prefix)
		if !in {
			continue
		}
		child, _, isFolder := strings.Cut(rest, "/")
		info := fileInfo{child, int64(d.files[i].size), 0o444}
		if isFolder {
			info.size, info.mode = 0, fs.ModeDir|0o555
		}
		if last := len(f.entries) - 1; last < 0 || f.entries[last].Name() != child {
			f.entries = append(f.entries, info)
		}
	}
	if len(f.entries) == 0 && name != "." {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	slices.SortFunc(f.entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	f.entries = slices.CompactFunc(f.entries, func(a, b fs.DirEntry) bool { return a.Name() == b.Name() })
	return f, nil
}

// folderFile is an open folder.
type folderFile struct {
	info    fileInfo
	entries []fs.DirEntry // not yet returned
}

func (f *folderFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *folderFile) Close() error               { return nil }

// Read implements fs.File.
func (f *folderFile) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.info.name, Err: fs.ErrInvalid}
}

// ReadDir implements fs.ReadDirFile.
func (f *folderFile) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 || n > len(f.entries) {
		if n > 0 && len(f.entries) == 0 {
			return nil, io.EOF
		}
		n = len(f.entries)
	}
	out := slices.Clone(f.entries[:n])
	f.entries = f.entries[n:]
	return out, nil
}

// fileInfo describes a file or folder of a tree. It has no time: the time of the build is in the checkpoint.
type fileInfo struct {
	name string
	size int64
	mode fs.FileMode
}

func (i fileInfo) Name() string               { return path.Base(i.name) }
func (i fileInfo) Size() int64                { return i.size }
func (i fileInfo) Mode() fs.FileMode          { return i.mode }
func (i fileInfo) Type() fs.FileMode          { return i.mode.Type() }
func (i fileInfo) ModTime() time.Time         { return time.Time{} }
func (i fileInfo) IsDir() bool                { return i.mode.IsDir() }
func (i fileInfo) Sys() any                   { return nil }
func (i fileInfo) Info() (fs.FileInfo, error) { return i, nil }
