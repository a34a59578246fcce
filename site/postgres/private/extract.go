//go:build unix

package private

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

const (
	maxExtracted = 400 << 20 // total bytes; the package has 60 MB
	maxEntries   = 20_000    // the package has 1,000
	maxLinkList  = 1 << 20   // bytes of the list of links
)

// extract unpacks the files under native/ of the package's tarball into dir/native, and creates the symbolic links that
// the package lists, because npm packages cannot contain links. It writes nothing outside dir.
func extract(ctx context.Context, tarball, dir string) error {
	f, err := os.Open(tarball)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := extractFiles(ctx, tar.NewReader(io.LimitReader(z, maxExtracted)), root); err != nil {
		return err
	}
	return makeLinks(root)
}

func extractFiles(ctx context.Context, t *tar.Reader, root *os.Root) error {
	for n := 0; ; n++ {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if n > maxEntries {
			return fmt.Errorf("more than %d entries", maxEntries)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		name, ok := strings.CutPrefix(h.Name, "package/")
		if !ok || !strings.HasPrefix(name, "native/") || h.Typeflag != tar.TypeReg || path.Ext(name) == ".a" {
			continue
		}
		if !filepath.IsLocal(name) {
			return fmt.Errorf("entry %q leads outside", h.Name)
		}
		if err := extractFile(t, h, root, name); err != nil {
			return err
		}
	}
}

// extractFile creates a file that every user can read, and execute if it is a program, regardless of the umask.
func extractFile(t io.Reader, h *tar.Header, root *os.Root, name string) error {
	if err := makeDirs(root, path.Dir(name)); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if h.Mode&0o111 != 0 || path.Dir(name) == "native/bin" {
		mode = 0o755
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.Copy(f, t); err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	return f.Close()
}

func makeDirs(root *os.Root, name string) error {
	if _, err := root.Stat(name); err == nil {
		return nil
	}
	if up := path.Dir(name); up != "." {
		if err := makeDirs(root, up); err != nil {
			return err
		}
	}
	if err := root.Mkdir(name, 0o755); err != nil {
		return err
	}
	return root.Chmod(name, 0o755)
}

// makeLinks creates the links of native/pg-symlinks.json. They are relative, so that the folder can be moved.
func makeLinks(root *os.Root) error {
	const list = "native/pg-symlinks.json"
	f, err := root.Open(list)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var links []struct{ Source, Target string } // the file, and the link to it
	if err := json.NewDecoder(io.LimitReader(f, maxLinkList)).Decode(&links); err != nil {
		return fmt.Errorf("read %s: %w", list, err)
	}
	for _, l := range links {
		if !inNative(l.Source) || !inNative(l.Target) {
			return fmt.Errorf("read %s: link from %q to %q leads outside", list, l.Target, l.Source)
		}
		source, err := filepath.Rel(path.Dir(l.Target), l.Source)
		if err != nil {
			return fmt.Errorf("read %s: %w", list, err)
		}
		if err := makeDirs(root, path.Dir(l.Target)); err != nil {
			return err
		}
		if err := root.Symlink(source, l.Target); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}

func inNative(name string) bool {
	return filepath.IsLocal(name) && strings.HasPrefix(path.Clean(name), "native/")
}
