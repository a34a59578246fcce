package main

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// promises returns the sentences and the first cells of rows in which SECURITY.md promises something.
func promises(t *testing.T) (list []string) {
	t.Helper()
	text := readFile(t, filepath.Join(root, ".github/SECURITY.md"))
	_, text, ok := strings.Cut(text, "\n## Threat model\n")
	text, _, ends := strings.Cut(text, "\n## Tests of these promises\n")
	if !ok || !ends {
		t.Fatal("SECURITY.md lacks one of the two headings")
	}
	sentence := regexp.MustCompile("[.:] +(?:[A-Z*`])")
	for block := range strings.SplitSeq(text, "\n\n") {
		block = strings.TrimSpace(block)
		switch {
		case strings.HasPrefix(block, "|"):
			for _, row := range strings.Split(block, "\n")[2:] {
				list = append(list, strings.TrimSpace(strings.Split(row, "|")[1]))
			}
		case block != "" && !strings.HasPrefix(block, "#"):
			block = strings.Join(strings.Fields(block), " ")
			for at := sentence.FindStringIndex(block); at != nil; at = sentence.FindStringIndex(block) {
				list, block = append(list, block[:at[0]+1]), block[at[1]-1:]
			}
			list = append(list, block)
		}
	}
	return list
}

// TestPromises checks that each promise of SECURITY.md has tests, which exist.
func TestPromises(t *testing.T) {
	t.Parallel()
	defined := functionNames(t)
	tests, used := map[string][]string{}, map[string]bool{}
	for line := range strings.Lines(readFile(t, "testdata/promises.txt")) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		begin, names, _ := strings.Cut(line, " | ")
		if tests[begin] = strings.Fields(names); len(tests[begin]) == 0 {
			t.Errorf("testdata/promises.txt has no test for %q", begin)
		}
		for _, name := range tests[begin] {
			if name != "-" && !defined[name] {
				t.Errorf("testdata/promises.txt names %s for %q, which no file defines", name, begin)
			}
		}
	}
	for _, promise := range promises(t) {
		held := false
		for begin := range tests {
			if strings.HasPrefix(promise, begin) {
				held, used[begin] = true, true
			}
		}
		if !held {
			t.Errorf("testdata/promises.txt has no test for the promise %q of SECURITY.md", promise)
		}
	}
	for begin := range tests {
		if !used[begin] {
			t.Errorf("SECURITY.md no longer promises %q", begin)
		}
	}
}

// TestListenOnLoopback checks that every address that a program listens at by default is on loopback.
func TestListenOnLoopback(t *testing.T) {
	t.Parallel()
	_, stdout, _ := tollbook(t, nil, "config", "--json")
	var settings []struct {
		Key   string
		Value any
	}
	if err := json.Unmarshal([]byte(stdout), &settings); err != nil {
		t.Fatalf("%v: %.300s", err, stdout)
	}
	found := 0
	for _, s := range settings {
		value, _ := s.Value.(string)
		host, port, err := net.SplitHostPort(value)
		if err != nil || port == "" || strings.Contains(value, "/") {
			continue
		}
		if found++; !net.ParseIP(host).IsLoopback() {
			t.Errorf("%s is %s by default", s.Key, value)
		}
	}
	if found == 0 {
		t.Error("no setting is an address")
	}
}

// TestKeyFileIsPrivate checks that only its owner may read the file of a new key.
func TestKeyFileIsPrivate(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "key.pem")
	if code, stdout, stderr := tollbook(t, nil, "key", "new", name); code != 0 {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestServeNeedsNothing checks that serve without submissions asks no database and writes nothing.
func TestServeNeedsNothing(t *testing.T) {
	t.Parallel()
	k := keptPublications[len(keptPublications)-1]
	place := filepath.Join(t.TempDir(), "public")
	if err := os.CopyFS(place, os.DirFS(k.folder())); err != nil {
		t.Fatal(err)
	}
	database, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan error, 1)
	go func() {
		c, err := database.Accept()
		if err == nil {
			c.Close()
		}
		asked <- err
	}()
	names := func() []string {
		list, err := filepath.Glob(filepath.Join(place, "*"))
		hidden, hiddenErr := filepath.Glob(filepath.Join(place, ".*"))
		if err != nil || hiddenErr != nil {
			t.Fatal(err, hiddenErr)
		}
		return slices.Concat(list, hidden)
	}
	before, sums := names(), folderSums(t, place)
	env := []string{"DATABASE_URL=postgres://" + database.Addr().String() + "/none"}
	p := command(t, env, "serve", "--from", place, "--serve-listen", "127.0.0.1:0").start(t)
	_, address, _ := strings.Cut(p.await(t, "Serving "), " on ")
	for _, target := range []string{"/", "/services", "/v1/search?q=embeddings"} {
		if got := get(t, strings.TrimSuffix(strings.Fields(address)[0], "/")+target); got.status != http.StatusOK {
			t.Errorf("GET %s: %d", target, got.status)
		}
	}
	p.interrupt(t, os.Interrupt)
	if diff := gocmp.Diff(before, names()); diff != "" {
		t.Errorf("the place has other files (-before +after):\n%s", diff)
	}
	if diff := gocmp.Diff(sums, folderSums(t, place)); diff != "" {
		t.Errorf("files changed (-before +after):\n%s", diff)
	}
	database.Close()
	if err := <-asked; err == nil {
		t.Error("the database was asked")
	}
}
