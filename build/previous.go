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
// A service's page, feeds, Markdown and badge are a function of the JSON files that it publishes, of its newest
// changes, of the neighbours that its page shows and of the templates. A build stores the digest of these inputs of
// each service in notes beside the snapshot. The next build copies the rendered files of the services whose digest is
// the same. Notes have the form of sha256sum's output, with slugs as names. A nil previousInputs copies nothing and
// stores nothing.
type previousInputs struct {
	shared  []byte            // digest of the program and of everything that all services' files show
	digests map[string]string // digests of the previous snapshot by slug; empty if nothing may be copied
	lines   bytes.Buffer      // notes of this snapshot
	copied  int               // services whose files were copied
}

// newPreviousInputs reads the notes of the previous snapshot. It returns nil if program is empty.
func newPreviousInputs(b *output.Build, program string, in *render.ServiceRenderer) (*previousInputs, error) {
	if program == "" {
		return nil, nil
	}
	shown, err := in.SharedInputs()
	if err != nil {
		return nil, err
	}
	x := &previousInputs{digests: map[string]string{}}
	if x.shared, err = sharedDigest(program, shown); err != nil {
		return nil, err
	}
	for line := range bytes.Lines(b.Notes()) {
		if digest, slug, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte("  ")); ok {
			x.digests[string(slug)] = string(digest)
		}
	}
	return x, nil
}

// sharedDigest returns the digest of the program and of everything that the files of every service show beside the
// service.
func sharedDigest(program string, shown render.SharedInputs) ([]byte, error) {
	data, err := json.Marshal(struct {
		Program string
		Shown   render.SharedInputs
	}{program, shown})
	if err != nil {
		return nil, fmt.Errorf("compute digest of page inputs: %w", err)
	}
	sum := sha256.Sum256(data)
	return sum[:], nil
}

// digest returns the digest of all inputs of the rendered files of a service.
func (x *previousInputs) digest(published []file, l *site.Listing, neighbours render.Neighbours) (string, error) {
	if x == nil {
		return "", nil
	}
	sum := sha256.New()
	sum.Write(x.shared)
	for _, f := range published {
		of := f.Sum()
		fmt.Fprintf(sum, "%s  %s\n", hex.EncodeToString(of[:]), f.name)
	}
	// The service's page shows changes that the published log may lack: packs contain them. It also shows fields of
	// requests, which are in the catalogue.
	if err := json.NewEncoder(sum).Encode([]any{l.Changes, neighbours, l.Terms}); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// isSame reports whether the inputs of a service have the same digest as in the previous snapshot.
func (x *previousInputs) isSame(slug, digest string) bool {
	return x != nil && x.digests[slug] == digest
}

// copyFiles returns packed files of the previous snapshot. It returns false if that snapshot lacks any of them.
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

// record adds the digest of a written service to the notes.
func (x *previousInputs) record(j *job) {
	if x == nil {
		return
	}
	if j.copied {
		x.copied++
	}
	fmt.Fprintf(&x.lines, "%s  %s\n", j.digest, j.listing.Item.Slug)
}

// notes returns the notes of this snapshot for the next build, nil for none.
func (x *previousInputs) notes() []byte {
	if x == nil {
		return nil
	}
	return x.lines.Bytes()
}

// copiedServices returns how many services have copied files.
func (x *previousInputs) copiedServices() int {
	if x == nil {
		return 0
	}
	return x.copied
}
