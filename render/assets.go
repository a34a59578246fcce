package render

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"tollbook/templates"
)

// Asset is a file that pages refer to.
type Asset struct {
	Key   string // in the tree, without a first slash
	Bytes []byte
}

// FaviconKey is the icon's name in the tree.
const FaviconKey = "favicon.svg"

// readAssets reads the embedded files that are published as they are, by key. The stylesheet carries a digest in its
// name, so that it may be cached for ever.
func readAssets() ([]Asset, error) {
	css, err := templates.FS.ReadFile("site.css")
	if err != nil {
		return nil, fmt.Errorf("read stylesheet: %w", err)
	}
	icon, err := templates.FS.ReadFile("favicon.svg")
	if err != nil {
		return nil, fmt.Errorf("read icon: %w", err)
	}
	sum := sha256.Sum256(css)
	return []Asset{
		{Key: "assets/site." + hex.EncodeToString(sum[:4]) + ".css", Bytes: css},
		{Key: FaviconKey, Bytes: icon},
	}, nil
}
