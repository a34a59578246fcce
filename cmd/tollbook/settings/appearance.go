// This file reads what an operator changes about a directory's pages: words, colours, pages in Markdown and templates
// from the operator's folders. It must never know what a page shows.

package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tollbook/cmd/tollbook/terminal"
	"tollbook/render"
	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/x402"
)

// Appearance are what the operator changes.
type Appearance struct {
	Title, Contact, Description string
	Footer                      string // Markdown
	Colours                     []string
	Explorers                   []string // "CAIP2=URL"
	Pages, Templates            string   // folders; "" for none
}

// Limits of an operator's words and folders.
const (
	maxFiles       = 200     // of a folder
	maxBytes       = 1 << 20 // of a file
	maxDescription = 300     // bytes
	maxFooter      = 4 << 10 // bytes
)

// readExplorers reads the URLs of accounts at block explorers, "CAIP2=URL", by network. "CAIP2=" is "".
func readExplorers(list []string) (map[string]string, error) {
	urls := map[string]string{}
	for _, text := range list {
		id, address, ok := strings.Cut(text, "=")
		n, isKnown := x402.NetworkByID(id)
		switch {
		case !ok || !isKnown || n.ID != id:
			return nil, fmt.Errorf("%q: begin with the CAIP-2 id of a known network and =, such as eip155:8453=",
				RedactUser(text))
		case address != "" && (strings.Count(address, site.AddressPlace) != 1 ||
			display.Link(strings.Replace(address, site.AddressPlace, "0", 1)) == ""):
			return nil, fmt.Errorf("%q: use an http or https URL with %s where the address of an account belongs",
				RedactUser(text), site.AddressPlace)
		}
		urls[id] = address
	}
	return urls, nil
}

// Read reads the folders and renders their pages and templates once, so that an error in one of them is reported before
// a build starts. baseURL is where readers find the directory.
func (o *Appearance) Read(baseURL string) (render.Site, error) {
	s := render.Site{
		Title: o.Title, BaseURL: baseURL, Contact: o.Contact, Description: o.Description, Colours: o.Colours,
		Footer: o.Footer,
	}
	if len(o.Description) > maxDescription {
		return s, terminal.UsageErrorf("--site-description: use at most %d bytes", maxDescription)
	}
	if len(o.Footer) > maxFooter {
		return s, terminal.UsageErrorf("--site-footer: use at most %d bytes", maxFooter)
	}
	var err error
	if s.Explorers, err = readExplorers(o.Explorers); err != nil {
		return s, terminal.UsageErrorf("--site-explorers: %w", err)
	}
	pages, err := readFolder(o.Pages, func(name string) error {
		if filepath.Ext(name) != ".md" || strings.Contains(name, "/") {
			return errors.New("a folder of pages may contain only Markdown files such as imprint.md")
		}
		return nil
	})
	if err != nil {
		return s, terminal.UsageErrorf("--site-pages: %w", err)
	}
	for name, source := range pages {
		s.OperatorPages = append(s.OperatorPages, render.OperatorPage{Name: strings.TrimSuffix(name, ".md"),
			Source: source})
	}
	slices.SortFunc(s.OperatorPages, func(a, b render.OperatorPage) int { return strings.Compare(a.Name, b.Name) })
	names := render.TemplateNames()
	s.Templates, err = readFolder(o.Templates, func(name string) error {
		if _, ok := slices.BinarySearch(names, name); !ok {
			return fmt.Errorf("no template of Tollbook has this name%s", display.Hint(name, names))
		}
		return nil
	})
	if err != nil {
		return s, terminal.UsageErrorf("--site-templates: %w", err)
	}
	_, err = render.NewPages(s)
	return s, err
}

// readFolder returns the files of a folder by their names with slashes; "" is no folder. It skips files of editors and
// systems, which begin with a dot or end in ~. accept returns an error for a name that is not allowed.
func readFolder(folder string, accept func(name string) error) (map[string][]byte, error) {
	if folder == "" {
		return nil, nil
	}
	if d, err := os.Stat(folder); err != nil {
		return nil, err
	} else if !d.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", folder)
	}
	files := map[string][]byte{}
	return files, fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case strings.HasPrefix(d.Name(), ".") && d.IsDir():
			return fs.SkipDir
		case d.IsDir(), strings.HasPrefix(d.Name(), "."), strings.HasSuffix(d.Name(), "~"):
			return nil
		}
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := accept(name); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if len(files) >= maxFiles {
			return fmt.Errorf("%s: the folder has more than %d files", folder, maxFiles)
		}
		files[name], err = ReadFile(path, maxBytes)
		return err
	})
}
