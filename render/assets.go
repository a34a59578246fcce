package render

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"tollbook/render/colour"
)

// Asset is a file of a snapshot that no route of the API contains: a page, an icon, a script.
type Asset struct {
	Key   string // without a leading slash
	Bytes []byte
}

// FaviconKey is the key of the icon.
const FaviconKey = "favicon.svg"

// readAssets reads the files that pages refer to, by key. The names of the stylesheet and the scripts contain a digest,
// so that clients can cache them without a limit.
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

// readScript concatenates the files of a page's script.
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
