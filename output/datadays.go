package output

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"tollbook/output/archive"
)

// dataSumExt ends the name of the file beside a file of a day that contains its SHA-256, as sha256sum writes it. A
// build reads it instead of the whole file; publishing and verifying compare it with the bytes.
const dataSumExt = ".sha256"

func (d *Folder) dataPath(name string) string    { return filepath.Join(d.root, filepath.FromSlash(name)) }
func (d *Folder) dataSumPath(name string) string { return d.dataPath(name) + dataSumExt }

func formatDataSum(name string, sum archive.Sum) []byte {
	return fmt.Appendf(nil, "%s  %s\n", sum, filepath.Base(name))
}

// storeDataSum stores the sum of a file of a day. It is not synced: a missing or torn sum is computed again.
func (d *Folder) storeDataSum(name string, sum archive.Sum) error {
	if err := d.disk.Remove(d.dataSumPath(name)); err != nil {
		return err
	}
	return d.disk.Write(d.dataSumPath(name), func(w io.Writer) error {
		_, err := w.Write(formatDataSum(name, sum))
		return err
	})
}

// DataDays returns the published files of days, by name. It reads a file only if its stored sum is missing or torn.
func (d *Folder) DataDays() ([]archive.DataFile, error) { return d.dataDays(false) }

// dataDays implements DataDays. If store is set, it stores the sums that it computes; the caller holds the lock.
func (d *Folder) dataDays(store bool) ([]archive.DataFile, error) {
	names, err := d.dataDayNames()
	if err != nil {
		return nil, fmt.Errorf("list data days: %w", err)
	}
	days := make([]archive.DataFile, 0, len(names))
	for _, name := range names {
		info, err := os.Stat(d.dataPath(name))
		if err != nil {
			return nil, fmt.Errorf("list data days: %w", err)
		}
		f := archive.DataFile{Name: name, Bytes: info.Size()}
		var stored bool
		if f.Sum, stored = d.storedDataSum(name); !stored {
			if f.Sum, err = sumFile(d.dataPath(name)); err != nil {
				return nil, fmt.Errorf("list data days: %w", err)
			}
			if store {
				if err := d.storeDataSum(name, f.Sum); err != nil {
					return nil, fmt.Errorf("list data days: %w", err)
				}
			}
		}
		days = append(days, f)
	}
	return days, nil
}

// dataDayNames returns the names of the published files of days, in order.
func (d *Folder) dataDayNames() (names []string, err error) {
	folders, err := d.dataFolders()
	for _, folder := range folders {
		entries, err := os.ReadDir(filepath.Join(d.root, folder))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			name := filepath.ToSlash(folder) + "/" + e.Name()
			if _, _, ok := archive.ParseDataDay(name); ok && e.Type().IsRegular() {
				names = append(names, name)
			}
		}
	}
	return names, err
}

// dataFolders returns the folders of tables, in order. They exist once a file of a day was written.
func (d *Folder) dataFolders() (folders []string, err error) {
	entries, err := os.ReadDir(filepath.Join(d.root, archive.DataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if e.IsDir() {
			folders = append(folders, filepath.Join(archive.DataDir, e.Name()))
		}
	}
	return folders, err
}

// DataDaySizes returns the number of bytes of each file of a day by its name.
func (d *Folder) DataDaySizes() (map[string]int64, error) {
	names, err := d.dataDayNames()
	if err != nil {
		return nil, fmt.Errorf("list data days: %w", err)
	}
	sizes := map[string]int64{}
	for _, name := range names {
		info, err := os.Stat(d.dataPath(name))
		if err != nil {
			return nil, fmt.Errorf("list data days: %w", err)
		}
		sizes[name] = info.Size()
	}
	return sizes, nil
}

// storedDataSum returns the stored sum of a file of a day, and false if it is missing or torn.
func (d *Folder) storedDataSum(name string) (sum archive.Sum, ok bool) {
	text, err := os.ReadFile(d.dataSumPath(name))
	if err != nil {
		return sum, false
	}
	lines, err := archive.ParseSums(text)
	if err != nil || len(lines) != 1 || lines[0].Name != filepath.Base(name) {
		return sum, false
	}
	return lines[0].Sum, true
}

// sumFile returns the SHA-256 of a file on disk.
func sumFile(path string) (sum archive.Sum, err error) {
	f, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return sum, fmt.Errorf("read %s: %w", path, err)
	}
	return archive.Sum(h.Sum(nil)), nil
}
