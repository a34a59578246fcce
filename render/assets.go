package render

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/css"
	"github.com/tdewolff/minify/v2/js"

	"tollbook/render/lists"
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
	style, err := p.readFiles(styleFiles...)
	if err != nil {
		return nil, fmt.Errorf("read stylesheet: %w", err)
	}
	if style, err = colourSet(style, p.site.Colours); err != nil {
		return nil, err
	}
	p.light, p.dark = colourSchemes(style)
	if p.colours, err = p.palette(); err != nil {
		return nil, err
	}
	fonts, err := p.readFonts()
	if err != nil {
		return nil, err
	}
	p.font = fonts[0].Key
	icons, err := p.readIcons()
	if err != nil {
		return nil, err
	}
	p.icons = map[string]bool{}
	for _, icon := range icons {
		p.icons[icon.Key] = true
	}
	sheet, err := p.stylesheet("site", fonts, styleFiles...)
	if err != nil {
		return nil, err
	}
	documents, err := p.stylesheet("documents", fonts, documentStyles...)
	if err != nil {
		return nil, err
	}
	p.styles = map[string]string{"": sheet.Key, kindGuide: documents.Key, kindReference: documents.Key,
		kindTypes: documents.Key}
	assets := slices.Concat([]Asset{sheet, documents}, fonts, icons)
	p.scripts = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(scriptFiles)) {
		data, err := p.readFiles(scriptFiles[name]...)
		if err != nil {
			return nil, fmt.Errorf("read script: %w", err)
		}
		switch name {
		case siteScript:
			data, err = lists.SiteScript(data)
		case kindSearch:
			data, err = lists.PageScript(data)
		}
		if err != nil {
			return nil, err
		}
		if data, err = minifyScript(data); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		p.scripts[name] = hashedKey(name, ".js", data)
		assets = append(assets, Asset{Key: p.scripts[name], Bytes: data})
	}
	local, err := p.readFiles("localsearch.js")
	if err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	if local, err = lists.LocalScript(local); err != nil {
		return nil, err
	}
	if local, err = minifyScript(local); err != nil {
		return nil, err
	}
	p.scripts[localScript] = hashedKey(localScript, ".js", local)
	return append(assets, Asset{Key: p.scripts[localScript], Bytes: local}), nil
}

// stylesheet returns files as one stylesheet with the operator's colours and the names of the typeface.
func (p *Pages) stylesheet(name string, fonts []Asset, files ...string) (Asset, error) {
	style, err := p.readFiles(files...)
	if err != nil {
		return Asset{}, fmt.Errorf("read stylesheet: %w", err)
	}
	if style, err = colourSet(style, p.site.Colours); err != nil {
		return Asset{}, err
	}
	for _, f := range fonts {
		name := strings.TrimPrefix(f.Key, "assets/")
		style = bytes.ReplaceAll(style, []byte(fontName+path.Ext(name)), []byte(name))
	}
	if style, err = minifyStyles(style); err != nil {
		return Asset{}, err
	}
	return Asset{Key: hashedKey(name, ".css", style), Bytes: style}, nil
}

// fontName names the files of the typeface. The stylesheet refers to them by it, and gets the names with digests.
const fontName = "source-serif-4"

// minifyScript returns a script without comments, spaces and long names that no reader needs.
func minifyScript(data []byte) ([]byte, error) {
	var out bytes.Buffer
	if err := js.Minify(minify.New(), &out, bytes.NewReader(data), nil); err != nil {
		return nil, fmt.Errorf("minify script: %w", err)
	}
	return out.Bytes(), nil
}

// minifyStyles returns a stylesheet without comments and spaces that no reader needs. Licences, whose comments begin
// with an exclamation mark, stay.
func minifyStyles(data []byte) ([]byte, error) {
	var out bytes.Buffer
	if err := css.Minify(minify.New(), &out, bytes.NewReader(data), nil); err != nil {
		return nil, fmt.Errorf("minify stylesheet: %w", err)
	}
	return out.Bytes(), nil
}

// readFonts returns the typeface and its licence.
func (p *Pages) readFonts() ([]Asset, error) {
	var fonts []Asset
	for _, ext := range []string{".woff2", ".txt"} {
		data, err := p.read("fonts/" + fontName + ext)
		if err != nil {
			return nil, fmt.Errorf("read typeface: %w", err)
		}
		fonts = append(fonts, Asset{Key: hashedKey(fontName, ext, data), Bytes: data})
	}
	return fonts, nil
}

const (
	siteScript  = "site"         // the script of all pages
	localScript = "local-search" // searches the files of a snapshot; read only where no server answers
)

// scriptFiles are the files of the script of all pages, and of the further script of a kind of page.
var scriptFiles = map[string][]string{
	siteScript: {"cells.js", "find.js", "searchfield.js", "call.js"}, kindSubmit: {"submit.js"},
	kindHome: {"chart.js"}, kindReference: {"reference.js"}, kindTypes: {"types.js"},
	kindCompare: {"compare.js"}, kindSearch: {"search.js"},
	kindService: {"chart.js", "request.js"}, kindSource: {"chart.js"}, kindFacilitators: {"chart.js"},
	kindFacilitator: {"chart.js"}, kindChanges: {"changes.js"},
}

// documentStyles are the files of the stylesheet of guides and of the reference, which are long and need no others.
var documentStyles = []string{"site.css", "list.css", "service.css", "guide.css", "call.css", "reference.css",
	"phone.css", "print.css"}

// styleFiles are the files of the stylesheet of all other pages, in the order in which later rules win.
var styleFiles = []string{"site.css", "home.css", "list.css", "service.css", "guide.css", "compare.css", "form.css",
	"chart.css", "call.css", "reference.css", "money.css", "status.css", "phone.css", "print.css"}

// readFiles concatenates templates.
func (p *Pages) readFiles(files ...string) ([]byte, error) {
	var all []byte
	for _, file := range files {
		data, err := p.read(file)
		if err != nil {
			return nil, err
		}
		all = append(all, data...)
	}
	return all, nil
}

func hashedKey(name, ext string, data []byte) string {
	sum := sha256.Sum256(data)
	return "assets/" + name + "." + hex.EncodeToString(sum[:4]) + ext
}
