package build

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"tollbook/output"
	"tollbook/render"
	"tollbook/site"
)

// previousInputs decides which rendered files a build copies from the previous snapshot.
//
// A service's page, feeds, Markdown and badge are a function of the JSON files that it publishes, of its newest change
// records, of its neighbours shown and of the templates. Where the digest of these is that of the previous snapshot,
// they are copied packed. Digests of a snapshot stand in the build notes beside it, as sha256sum writes them, with
// slugs for names. A nil one copies nothing and keeps nothing.
type previousInputs struct {
	shown  []byte            // digest of the program and of what the files of every service show
	before map[string]string // digests of the previous snapshot by slug; empty where nothing may be copied
	lines  bytes.Buffer      // digests of this one
	copied int               // services
}

// newPreviousInputs reads the notes of the previous snapshot. It is nil for a program that is not known.
func newPreviousInputs(b *output.Build, program string, in *render.Surroundings) (*previousInputs, error) {
	if program == "" {
		return nil, nil
	}
	shown, err := in.Shown()
	if err != nil {
		return nil, err
	}
	x := &previousInputs{before: map[string]string{}}
	if x.shown, err = shownDigest(program, shown); err != nil {
		return nil, err
	}
	for line := range bytes.Lines(b.Notes()) {
		if digest, slug, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte("  ")); ok {
			x.before[string(slug)] = string(digest)
		}
	}
	return x, nil
}

// shownDigest is the digest of what the files of every service show beside the service, and of the program that
// renders them.
func shownDigest(program string, shown render.Shown) ([]byte, error) {
	data, err := json.Marshal(struct {
		Program string
		Shown   render.Shown
	}{program, shown})
	if err != nil {
		return nil, fmt.Errorf("digest what pages show: %w", err)
	}
	sum := sha256.Sum256(data)
	return sum[:], nil
}

// digest is the digest of everything that the rendered files of a service are a function of.
func (x *previousInputs) digest(published []file, l *site.Listing, neighbours []render.Peer) (string, error) {
	if x == nil {
		return "", nil
	}
	sum := sha256.New()
	sum.Write(x.shown)
	for _, f := range published {
		of := f.Sum()
		fmt.Fprintf(sum, "%s  %s\n", hex.EncodeToString(of[:]), f.name)
	}
	// Packs have the change records that the log's own files lack.
	if err := json.NewEncoder(sum).Encode([]any{l.Changes, neighbours}); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// same says whether the inputs of a service have the digest that they had in the previous snapshot.
func (x *previousInputs) same(slug, digest string) bool {
	return x != nil && x.before[slug] == digest
}

// copyFiles takes files of the previous snapshot as they are packed there; false unless it has every one.
func copyFiles(names []string, from tree) ([]file, bool) {
	files := make([]file, len(names))
	for i, name := range names {
		packed, ok := from.Reuse(name)
		if !ok {
			return nil, false
		}
		files[i] = file{name, packed}
	}
	return files, true
}

// keep notes the digest of a service that is in the snapshot.
func (x *previousInputs) keep(t *job) {
	if x == nil {
		return
	}
	if t.copied {
		x.copied++
	}
	fmt.Fprintf(&x.lines, "%s  %s\n", t.digest, t.listing.Item.Slug)
}

// notes are the notes of this snapshot for the next build, nil for none.
func (x *previousInputs) notes() []byte {
	if x == nil {
		return nil
	}
	return x.lines.Bytes()
}

// copies is how many services have copied files.
func (x *previousInputs) copies() int {
	if x == nil {
		return 0
	}
	return x.copied
}
