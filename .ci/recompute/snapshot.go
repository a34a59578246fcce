package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// timeLayout is the format of every published time.
const timeLayout = "2006-01-02T15:04:05.000Z"

// snapshot is one published snapshot in memory: its own files and those of the packs. A parsed file is kept, so that a
// mutation of it is seen by whoever reads it next.
type snapshot struct {
	id    string
	now   time.Time // when the facts were read: built_at of the checkpoint
	bytes map[string][]byte
	trees map[string]node
}

// openSnapshot reads the current snapshot of a folder or of a base URL, and all packs that its logs name.
func openSnapshot(source string) (*snapshot, error) {
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
	s := &snapshot{id: c.Snapshot, now: c.BuiltAt, bytes: map[string][]byte{}, trees: map[string]node{}}
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
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get %s: %s", name, response.Status)
	}
	return io.ReadAll(response.Body)
}

// addZip adds the files of a published zip, except the list of its sums.
func (s *snapshot) addZip(source, name string) error {
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
		s.bytes[file.Name] = content
	}
	return nil
}

// packs returns the hours of all packs that a log of the snapshot names, oldest first. Pointers of logs are the files
// named log.json; their blocks that are full are in the packs.
func (s *snapshot) packs() []string {
	var hours []string
	for _, name := range s.files("v1/", "/log.json") {
		for _, pack := range s.json(name).get("packs").items() {
			hours = append(hours, pack.get("pack").text())
		}
	}
	slices.Sort(hours)
	return slices.Compact(hours)
}

// files returns the names of all files with a prefix and a suffix, sorted.
func (s *snapshot) files(prefix, suffix string) []string {
	var names []string
	for name := range s.bytes {
		if strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// has reports whether the snapshot contains a file.
func (s *snapshot) has(name string) bool { return s.bytes[name] != nil }

// json returns the root of a JSON file; the root of a file that is missing or no JSON is missing.
func (s *snapshot) json(name string) node {
	if n, ok := s.trees[name]; ok {
		return n
	}
	n := node{file: name, value: missing{}}
	if data := s.bytes[name]; data != nil {
		n.value = parseJSON(data)
	}
	s.trees[name] = n
	return n
}

// parseJSON returns the value of a JSON text, with numbers as they are written; missing if it is no JSON.
func parseJSON(data []byte) any {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return missing{}
	}
	return value
}

// log returns all rows of a log that are still published, oldest first. name is the log's path, such as v1/checks; its
// blocks of at most 100 rows are v1/checks/block=N.json.
func (s *snapshot) log(name string) []node {
	var rows []node
	index := s.json(name + "/log.json")
	first, next := index.get("first").int(), index.get("next").int()
	for at := first; at < next; {
		block := s.json(fmt.Sprintf("%s/block=%d.json", name, at/100))
		before := at
		for i, row := range block.get("data").items() {
			if number := block.get("meta").get("first").int() + i; number >= at && number < next {
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
