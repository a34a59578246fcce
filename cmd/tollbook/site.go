package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"tollbook/render"
)

// siteOptions are what an operator says of the directory.
type siteOptions struct {
	lookOptions
	BaseURL string
}

// lookOptions are how its pages differ from ours, without another program.
type lookOptions struct {
	Title, SiteContact, Description, Footer string
	Colours                                 []string
	Pages, Templates                        string // folders, "" for none
}

// AddFlags adds what pages say of their directory.
func (o *siteOptions) AddFlags(f *pflag.FlagSet) {
	o.lookOptions.AddFlags(f)
	f.StringVar(&o.BaseURL, "base-url", "http://127.0.0.1:4020", "`address` at which readers reach the directory")
}

// AddFlags adds how pages look.
func (o *lookOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Title, "title", "Tollbook", "name of the directory on its pages")
	f.StringVar(&o.SiteContact, "site-contact", "", "e-mail or web `address` that pages and security.txt name for questions")
	f.StringVar(&o.Description, "description", "", "what the directory is, in a `sentence`, for search engines and shared links")
	f.StringSliceVar(&o.Colours, "colours", nil, "`token=#rrggbb` of the stylesheet, such as link=#7a1f5c or dark.link=#ff9ad5; what can't be read is refused")
	f.StringVar(&o.Footer, "footer", "", "what stands at the foot of each page, in `Markdown`")
	f.StringVar(&o.Pages, "pages", "", "`folder` of pages in Markdown, imprint.md for /pages/imprint.html; the foot of each page links to them")
	f.StringVar(&o.Templates, "templates", "", "`folder` of files that take the place of ours of the same name: home.html, site.css, pages/about.md")
}

func (o *siteOptions) validate() error {
	u, err := url.Parse(o.BaseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return usagef("--base-url %q: it is an address such as https://tollbook.example", o.BaseURL)
	}
	return nil
}

// Of an operator's folders.
const (
	siteFiles    = 200     // that one may have
	siteBytes    = 1 << 20 // of a file
	siteSentence = 300     // of a description
	siteFooter   = 4 << 10
)

// site reads the folders and tries what they hold: what is wrong with a page or a template is told before anything is
// begun.
func (o *lookOptions) site(baseURL string) (render.Site, error) {
	s := render.Site{Title: o.Title, BaseURL: baseURL, Contact: o.SiteContact, Description: o.Description, Colours: o.Colours, Footer: o.Footer}
	if len(o.Description) > siteSentence {
		return s, usagef("--description: it has more than %d bytes", siteSentence)
	}
	if len(o.Footer) > siteFooter {
		return s, usagef("--footer: it has more than %d bytes", siteFooter)
	}
	pages, err := readFolder(o.Pages, func(name string) error {
		if filepath.Ext(name) != ".md" || strings.Contains(name, "/") {
			return errors.New("a folder of pages holds files of Markdown alone, such as imprint.md")
		}
		return nil
	})
	if err != nil {
		return s, usagef("--pages: %w", err)
	}
	for name, source := range pages {
		s.OperatorPages = append(s.OperatorPages, render.OperatorPage{Name: strings.TrimSuffix(name, ".md"), Source: source})
	}
	slices.SortFunc(s.OperatorPages, func(a, b render.OperatorPage) int { return strings.Compare(a.Name, b.Name) })
	known := render.TemplateNames()
	s.Templates, err = readFolder(o.Templates, func(name string) error {
		if _, ok := slices.BinarySearch(known, name); !ok {
			return fmt.Errorf("there is no template of this name to replace%s", suggestion(name, known))
		}
		return nil
	})
	if err != nil {
		return s, usagef("--templates: %w", err)
	}
	_, err = render.NewPages(s)
	return s, err
}

// readFolder reads the files of a folder, by their names with slashes; "" is no folder. Those that begin with a dot or
// end in ~ are an editor's or a system's, and passed over. accept says what is wrong with a name.
func readFolder(folder string, accept func(name string) error) (map[string][]byte, error) {
	if folder == "" {
		return nil, nil
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
		if len(files) >= siteFiles {
			return fmt.Errorf("%s: the folder has more than %d files", folder, siteFiles)
		}
		files[name], err = readUpTo(path, siteBytes)
		return err
	})
}
