// Package snapshot owns a published snapshot in memory and the report that compares its values with recomputed ones. It
// must never know what a figure means, nor use another package of Tollbook.
package snapshot

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// TimeLayout is the format of every published time.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// Snapshot is one published snapshot in memory: its own files and those of the packs. A file is parsed once, and a
// mutation changes the parsed file, which all later reads return.
type Snapshot struct {
	id    string
	Now   time.Time // when the facts were read: built_at of the checkpoint
	Bytes map[string][]byte
	Trees map[string]Node
}

// Open reads the current snapshot of a folder or of a base URL, and all packs that its logs name.
func Open(source string) (*Snapshot, error) {
	data, err := fetch(source, "checkpoint.json")
	if err != nil {
		return nil, err
	}
	var c struct {
		Snapshot string
		BuiltAt  time.Time `json:"built_at"`
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("read checkpoint.json: %w", err)
	}
	s := &Snapshot{id: c.Snapshot, Now: c.BuiltAt, Bytes: map[string][]byte{}, Trees: map[string]Node{}}
	if err := s.addZip(source, "snapshots/"+c.Snapshot+".zip"); err != nil {
		return nil, err
	}
	for _, pack := range s.packs() {
		if err := s.addZip(source, "packs/"+pack+".zip"); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// fetch returns a published file of a folder or of a base URL.
func fetch(source, name string) ([]byte, error) {
	if !strings.HasPrefix(source, "http://") && !strings.HasPrefix(source, "https://") {
		return os.ReadFile(filepath.Join(source, filepath.FromSlash(name)))
	}
	response, err := http.Get(strings.TrimSuffix(source, "/") + "/" + name)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotFound {
		return nil, fmt.Errorf("get %s: %w", name, fs.ErrNotExist)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get %s: %s", name, response.Status)
	}
	return io.ReadAll(response.Body)
}

// Ask adds the response of a directory to a request for this snapshot, as a file. source is the directory's base URL.
func (s *Snapshot) Ask(source, path, query string) error {
	data, err := fetch(source, path+"?"+query+"&snapshot="+url.QueryEscape(s.id))
	if err == nil {
		s.Bytes[AnswerFile(path, query)] = data
	}
	return err
}

// AnswerFile returns the name of the file of a response.
func AnswerFile(path, query string) string { return path + "/" + query + ".json" }

// addZip adds the files of a published zip, except the list of its sums.
func (s *Snapshot) addZip(source, name string) error {
	data, err := fetch(source, name)
	if err != nil {
		return err
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	for _, file := range archive.File {
		if file.Name == "SHA256SUMS" {
			continue
		}
		r, err := file.Open()
		if err != nil {
			return fmt.Errorf("read %s in %s: %w", file.Name, name, err)
		}
		content, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			return fmt.Errorf("read %s in %s: %w", file.Name, name, err)
		}
		s.Bytes[file.Name] = content
	}
	return nil
}

// packs returns the hours of all packs that a log of the snapshot names, oldest first. Pointers of logs are the files
// named log.json; their blocks that are full are in the packs.
func (s *Snapshot) packs() []string {
	var hours []string
	for _, name := range s.Files("v1/", "/log.json") {
		for _, pack := range s.JSON(name).Get("packs").Items() {
			hours = append(hours, pack.Get("pack").Text())
		}
	}
	slices.Sort(hours)
	return slices.Compact(hours)
}

// Files returns the names of all files with a prefix and a suffix, sorted.
func (s *Snapshot) Files(prefix, suffix string) []string {
	var names []string
	for name := range s.Bytes {
		if strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// JSON returns the root of a JSON file; the root of a file that is missing or no JSON is missing.
func (s *Snapshot) JSON(name string) Node {
	if n, ok := s.Trees[name]; ok {
		return n
	}
	n := Node{File: name, Value: missing{}}
	if data := s.Bytes[name]; data != nil {
		n.Value = ParseJSON(data)
	}
	s.Trees[name] = n
	return n
}

// ParseJSON returns the value of a JSON text, with numbers as they are written; missing if it is no JSON.
func ParseJSON(data []byte) any {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return missing{}
	}
	return value
}

// Log returns all rows of a log that are still published, oldest first. name is the log's path, such as v1/checks; its
// blocks of at most 100 rows are v1/checks/block=N.json.
func (s *Snapshot) Log(name string) []Node {
	var rows []Node
	index := s.JSON(name + "/log.json")
	first, next := index.Get("first").Int(), index.Get("next").Int()
	for at := first; at < next; {
		block := s.JSON(fmt.Sprintf("%s/block=%d.json", name, at/100))
		before := at
		for i, row := range block.Get("data").Items() {
			if number := block.Get("meta").Get("first").Int() + i; number >= at && number < next {
				rows = append(rows, row)
				at++
			}
		}
		if at == before {
			break // the block is missing or empty: the totals will differ
		}
	}
	return rows
}
