package main

import (
	"net/url"

	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
)

// siteOptions are what pages say of their directory.
type siteOptions struct {
	appearanceOptions
	BaseURL string
}

// appearanceOptions are what an operator changes about the pages.
type appearanceOptions struct {
	Appearance settings.Appearance
}

// AddFlags adds the flags of the section [site].
func (o *siteOptions) AddFlags(f *pflag.FlagSet) {
	o.appearanceOptions.AddFlags(f)
	settings.AddFlag(f, "site.base_url", &o.BaseURL)
}

// AddFlags adds the flags of the section [site] without --site-base-url.
func (o *appearanceOptions) AddFlags(f *pflag.FlagSet) {
	settings.AddFlag(f, "site.title", &o.Appearance.Title)
	settings.AddFlag(f, "site.contact", &o.Appearance.Contact)
	settings.AddFlag(f, "site.description", &o.Appearance.Description)
	settings.AddFlag(f, "site.colours", &o.Appearance.Colours)
	settings.AddFlag(f, "site.explorers", &o.Appearance.Explorers)
	settings.AddFlag(f, "site.footer", &o.Appearance.Footer)
	settings.AddFlag(f, "site.pages", &o.Appearance.Pages)
	settings.AddFlag(f, "site.templates", &o.Appearance.Templates)
}

func (o *siteOptions) validate() error {
	u, err := url.Parse(o.BaseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" ||
		u.Fragment != "" ||
		u.User != nil {
		return terminal.UsageErrorf("--site-base-url %q: give a URL such as https://tollbook.example", settings.RedactUser(o.BaseURL))
	}
	return nil
}
