package figure

import (
	"io/fs"
	"path"
	"strings"
	"sync"

	"tollbook/site"
	"tollbook/templates"
)

// Proofs returns all proofs in the order of their names.
var Proofs = sync.OnceValue(func() []site.DatasetProof {
	names, err := fs.Glob(templates.FS, "proofs/*.sql")
	if err != nil {
		panic(err) // impossible: the pattern is valid
	}
	proofs := make([]site.DatasetProof, 0, len(names))
	for _, name := range names {
		text, err := templates.FS.ReadFile(name)
		if err != nil {
			panic(err) // impossible: the file is embedded
		}
		p, err := site.ParseProof(strings.TrimSuffix(path.Base(name), ".sql"), string(text))
		if err != nil {
			panic(err)
		}
		proofs = append(proofs, p)
	}
	return proofs
})
