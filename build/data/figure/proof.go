package figure

import (
	"sync"

	"tollbook/site"
	"tollbook/templates"
)

// Proofs returns all proofs in the order of their names.
var Proofs = sync.OnceValue(func() []site.DatasetProof {
	proofs, err := site.ReadProofs(templates.FS)
	if err != nil {
		panic(err) // impossible: the files are embedded, and tests read them
	}
	return proofs
})
