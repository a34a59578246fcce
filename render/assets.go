package render

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"tollbook/render/colour"
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
func (p *Pages) readAssets() ([]Asset, error) {
	css, err := p.read("site.css")
	if err != nil {
		return nil, fmt.Errorf("read stylesheet: %w", err)
	}
	if css, err = colour.Set(css, p.site.Colours); err != nil {
		return nil, err
	}
	p.light, p.dark = colour.Schemes(css)
	script, err := p.readScript("submit.js")
	if err != nil {
		return nil, err
	}
	list, err := p.readScript("cells.js", "services.js")
	if err != nil {
		return nil, err
	}
	compare, err := p.readScript("cells.js", "compare.js")
	if err != nil {
		return nil, err
	}
	icons, err := p.readIcons()
	if err != nil {
		return nil, err
	}
	p.icons = map[string]bool{}
	for _, icon := range icons {
		p.icons[icon.Key] = true
	}
	return append([]Asset{
		{Key: hashedKey("site", ".css", css), Bytes: css},
		icons[0],
		{Key: hashedKey("submit", ".js", script), Bytes: script},
		{Key: hashedKey("services", ".js", list), Bytes: list},
		{Key: hashedKey("compare", ".js", compare), Bytes: compare},
	}, icons[1:]...), nil
}

// readScript reads a page's script, which may be made of several files.
func (p *Pages) readScript(files ...string) ([]byte, error) {
	var script []byte
	for _, file := range files {
		data, err := p.read(file)
		if err != nil {
			return nil, fmt.Errorf("read script: %w", err)
		}
		script = append(script, data...)
	}
	return script, nil
}

func hashedKey(name, ext string, data []byte) string {
	sum := sha256.Sum256(data)
	return "assets/" + name + "." + hex.EncodeToString(sum[:4]) + ext
}
