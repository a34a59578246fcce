package main

import (
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/cmd/tollbook/version"
	"tollbook/crawl"
)

// contactOptions say whom the owners of services can ask about requests.
type contactOptions struct {
	Contact string
}

// AddFlags adds --crawl-contact.
func (o *contactOptions) AddFlags(f *pflag.FlagSet) { settings.AddFlag(f, "crawl.contact", &o.Contact) }

// hasContact reports whether the owners of services can write to the contact.
func (o *contactOptions) hasContact() bool {
	isReachable, err := crawl.ReadContact(o.Contact)
	return isReachable && err == nil
}

// validate refuses a contact that no user agent can contain.
func (o *contactOptions) validate() error {
	if _, err := crawl.ReadContact(o.Contact); err != nil {
		return terminal.UsageErrorf("--crawl-contact %q: %w; give a URL such as https://your-domain/bot, or "+
			"mailto:you@your-domain", settings.RedactUser(o.Contact), err)
	}
	return nil
}

// userAgent returns the user agent of requests to services.
func (o *contactOptions) userAgent() string { return version.UserAgent(o.Contact) }
