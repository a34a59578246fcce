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

// readAssets reads the embedded files that are published as they are, by key. The stylesheet and the scripts carry a
// digest in their names, so that they may be cached for ever.
func readAssets() ([]Asset, error) {
	css, err := templates.FS.ReadFile("site.css")
	if err != nil {
		return nil, fmt.Errorf("read stylesheet: %w", err)
	}
	script, err := templates.FS.ReadFile("submit.js")
	if err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	list, err := templates.FS.ReadFile("services.js")
	if err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	icon, err := templates.FS.ReadFile("favicon.svg")
	if err != nil {
		return nil, fmt.Errorf("read icon: %w", err)
	}
	return []Asset{
		{Key: hashedKey("site", ".css", css), Bytes: css},
		{Key: FaviconKey, Bytes: icon},
		{Key: hashedKey("submit", ".js", script), Bytes: script},
		{Key: hashedKey("services", ".js", list), Bytes: list},
	}, nil
}

func hashedKey(name, ext string, data []byte) string {
	sum := sha256.Sum256(data)
	return "assets/" + name + "." + hex.EncodeToString(sum[:4]) + ext
}
