package main

import (
	"net/url"
	"os"

	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/crawl"
	"tollbook/crawl/model"
)

// synthesisOptions say which language model summarises services. Without a base URL none does.
type synthesisOptions struct {
	SynthesisURL, SynthesisModel string
	SynthesisPerDay              int
}

// AddFlags adds the flags of the section [synthesis].
func (o *synthesisOptions) AddFlags(f *pflag.FlagSet) {
	settings.AddFlag(f, "synthesis.base_url", &o.SynthesisURL)
	settings.AddFlag(f, "synthesis.model", &o.SynthesisModel)
	settings.AddFlag(f, "synthesis.per_day", &o.SynthesisPerDay)
}

func (o *synthesisOptions) validate() error {
	if o.SynthesisURL == "" {
		if o.SynthesisModel != "" {
			return terminal.UsageErrorf("--synthesis-model %q: add --synthesis-base-url, the URL of its API", o.SynthesisModel)
		}
		return nil
	}
	u, err := url.Parse(o.SynthesisURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" {
		return terminal.UsageErrorf("--synthesis-base-url: give a URL such as https://model.example/v1, without user, " +
			"query or fragment")
	}
	if o.SynthesisModel == "" {
		return terminal.UsageErrorf("--synthesis-base-url %s: add --synthesis-model, the name of a model there", o.SynthesisURL)
	}
	if o.SynthesisPerDay < 0 {
		return terminal.UsageErrorf("--synthesis-per-day %d: use 0 or more", o.SynthesisPerDay)
	}
	return nil
}

// synthesis returns the model for the crawler; empty without a URL.
func (o *synthesisOptions) synthesis() crawl.Synthesis {
	if o.SynthesisURL == "" {
		return crawl.Synthesis{}
	}
	client := model.New(model.Options{
		BaseURL: o.SynthesisURL, Model: o.SynthesisModel, Key: os.Getenv("OPENAI_API_KEY"),
	})
	return crawl.Synthesis{Client: client, PerDay: o.SynthesisPerDay}
}
