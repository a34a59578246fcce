package render

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"tollbook/render/guide"
	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/routes"
	"tollbook/templates"
)

// guides lists the pages that are written in Markdown, each a file of package templates. Package guide has the rules. A
// link to a page of the directory is its address: "/reference", "/methodology#risk".
var guides = []struct{ route, file string }{
	{aboutRoute, "pages/about.md"},
	{methodologyRoute, "pages/methodology.md"},
	{verifyRoute, "pages/verify.md"},
	{"before-you-pay-page", "pages/before-you-pay.md"},
	{ownersRoute, "pages/owners.md"},
	{"hosting-page", "pages/hosting.md"},
	{"costs-page", "pages/costs.md"},
	{"operations-page", "pages/operations.md"},
	{"operations-start-page", "pages/operations/start.md"},
	{"operations-daily-page", "pages/operations/daily.md"},
	{"operations-repair-page", "pages/operations/repair.md"},
	{"operations-reference-page", "pages/operations/reference.md"},
	{"configuration-page", "pages/configuration.md"},
	{"upgrading-page", "pages/upgrading.md"},
	{"changelog-page", "pages/changelog.md"},
	{"troubleshooting-page", "pages/troubleshooting.md"},
	{"contributing-page", "pages/contributing.md"},
}

const (
	aboutRoute       = "about-page"
	methodologyRoute = "methodology-page"
	verifyRoute      = "verify-page"
	ownersRoute      = "owners-page"
)

// guidePage is the page of a rendered guide.
type guidePage struct {
	*guide.Guide
	Key string
}

// GuidePages returns the pages of all guides.
func (e *Renderer) GuidePages() ([]Asset, error) {
	var files []Asset
	for _, g := range e.pages.guides {
		data, err := e.render(page{Key: g.Key, Kind: kindGuide, HasMarkdown: true, Title: g.Title,
			Description: g.Description,
			Body:        g})
		if err != nil {
			return nil, err
		}
		files = append(files, Asset{Key: g.Key, Bytes: data})
	}
	return files, nil
}

// readGuides renders the guides of package templates.
func (p *Pages) readGuides() error {
	for _, file := range guides {
		source, err := p.guideSource(file.file)
		if err != nil {
			return err
		}
		if file.route == verifyRoute {
			if source, err = addProofs(source); err != nil {
				return err
			}
		}
		parse := guide.Parse
		if file.route == methodologyRoute {
			parse = guide.ParseLong
		}
		g, err := parse(source, p.linkAddress)
		if err != nil {
			return fmt.Errorf("render %s: %w", file.file, err)
		}
		p.guides = append(p.guides, &guidePage{g, bareKey(file.route, "")})
	}
	return nil
}

// guideSource reads the Markdown of a guide and replaces {{title}}, {{address}} and {{operator}}, a sentence about the
// operator, by those of this directory.
func (p *Pages) guideSource(file string) ([]byte, error) {
	source, err := p.read(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	title := display.Markdown(p.site.Title, display.MaxTitle)
	operator := title + " is run by its publisher at <" + p.site.BaseURL + "/>, who has given no contact address."
	if contact := p.site.Contact; display.Link(contact) != "" || strings.Contains(contact, "@") &&
		!strings.ContainsAny(contact, "<> ") {
		operator = "The operator of " + title + " at <" + p.site.BaseURL + "/> can be contacted at <" + contact + ">."
	}
	return []byte(strings.NewReplacer("{{title}}", title, "{{address}}", p.site.BaseURL+"/", "{{operator}}",
		operator).Replace(string(source))), nil
}

// addProofs adds the published figures as queries at the end of a guide, each with a link to its rule.
func addProofs(source []byte) ([]byte, error) {
	proofs, err := site.ReadProofs(templates.FS)
	if err != nil {
		return nil, err
	}
	out := bytes.NewBuffer(source)
	for _, p := range proofs {
		fmt.Fprintf(out, "\n[%s](/methodology#%s)\n\n```sql\n-- GET %s\n%s\n```\n", p.Title, p.Section, p.Path, p.SQL)
	}
	return out.Bytes(), nil
}

// linkAddress returns the link to an address of the directory: "/reference". It is a guide.LinkFunc.
func (p *Pages) linkAddress(address string) (string, error) {
	q, err := routes.ParseRequest(address, "")
	if err != nil {
		return "", err
	}
	if key := q.Key(); strings.HasPrefix(key, "pages/") && !p.hasOperatorPage(key) {
		return "", errors.New("no such page")
	}
	return p.href(q.Key()), nil
}
