package output

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// AddPack writes the pack of an hour, which is published with the snapshot. If the pack already exists, AddPack keeps
// it and does not call fill.
func (b *Build) AddPack(hour string, fill func(add func(name string, data []byte) error) error) error {
	d := b.folder
	if _, ok := archive.ParseHour(hour); !ok {
		return fmt.Errorf("add pack %.20q: not an hour", hour)
	}
	if d.HasPack(hour) || slices.Contains(b.packs, hour) {
		return nil
	}
	return b.writePack(hour, fill)
}

// writePack writes a pack under a temporary name.
func (b *Build) writePack(hour string, fill func(add func(name string, data []byte) error) error) error {
	d := b.folder
	f, err := d.disk.Create(b.tempPack(hour))
	if err != nil {
		return fmt.Errorf("add pack: %w", err)
	}
	sum := sha256.New()
	z := archive.NewZipWriter(io.MultiWriter(d.disk.Writer(f), sum), archive.ZipOptions{Modified: b.opts.Now})
	err = fill(z.Add)
	if err == nil {
		_, err = z.Close()
	} else {
		z.Abort()
	}
	if err := errors.Join(err, d.disk.SyncAndClose(f)); err != nil {
		return fmt.Errorf("add pack %s: %w", f.Name(), err)
	}
	if err := readBack(f.Name(), sum); err != nil {
		return fmt.Errorf("add pack: %w", err)
	}
	b.packs = append(b.packs, hour)
	return nil
}

// RewritePack writes a published pack again if change changes one of its files; change returns nil to remove a file.
// Commit replaces the old pack. Only erasing a service needs RewritePack.
func (b *Build) RewritePack(hour string, change func(name string, data []byte) ([]byte, error)) error {
	d := b.folder
	old, err := archive.OpenZipFile(d.packPath(hour))
	if err != nil {
		return fmt.Errorf("rewrite pack: %w", err)
	}
	defer old.Close()
	var files []file
	changed := false
	for _, name := range old.Names() {
		if name == archive.SumsFile {
			continue
		}
		data, err := old.ReadFile(name)
		if err != nil {
			return fmt.Errorf("rewrite pack %s: %w", hour, err)
		}
		next, err := change(name, data)
		if err != nil {
			return fmt.Errorf("rewrite pack %s: %s: %w", hour, name, err)
		}
		changed = changed || !bytes.Equal(next, data)
		if next != nil {
			files = append(files, file{name, next})
		}
	}
	if !changed {
		return nil
	}
	return b.writePack(hour, func(add func(string, []byte) error) error {
		for _, f := range files {
			if err := add(f.name, f.data); err != nil {
				return err
			}
		}
		return nil
	})
}

// file is a name with its content.
type file struct {
	name string
	data []byte
}

func (b *Build) tempPack(hour string) string {
	return filepath.Join(b.folder.root, archive.PacksDir, objects.TempPrefix+hour+".zip")
}
