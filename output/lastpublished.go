package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tollbook/output/objects"
)

// publishedFile has what the last publication to each place did, as JSON.
const publishedFile = ".published"

// LastPublished returns what the last publication from this folder to a place did, and false if none is known.
func (d *Folder) LastPublished(place string) (Published, bool, error) {
	all, err := d.readPublished()
	r, ok := all[place]
	return r, ok, err
}

func (d *Folder) readPublished() (map[string]Published, error) {
	all := map[string]Published{}
	data, err := os.ReadFile(filepath.Join(d.root, publishedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return map[string]Published{}, fmt.Errorf("read %s: %w; it is safe to delete",
			filepath.Join(d.root, publishedFile), err)
	}
	return all, nil
}

// storePublished stores what a publication to a place did. The publication itself does not depend on it, so an error,
// such as a full disk, is ignored.
func (d *Folder) storePublished(place string, r Published) {
	all, _ := d.readPublished() // a damaged file is replaced
	all[place] = r
	if data, err := json.Marshal(all); err == nil {
		_ = d.disk.Replace(filepath.Join(d.root, publishedFile),
			filepath.Join(d.root, objects.TempPrefix+publishedFile), data)
	}
}
