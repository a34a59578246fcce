package main

import (
	"net/url"

	"github.com/spf13/pflag"
)

// synthesisOptions say which language model is asked to sum services up; without a base address none is.
type synthesisOptions struct {
	SynthesisURL, SynthesisModel string
	SynthesisPerDay              int
}

// AddFlags adds the flags of synthesis.
func (o *synthesisOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.SynthesisURL, "synthesis-base-url", "", "`address` of an OpenAI-compatible API (https://…/v1) that sums services up; none is asked without it")
	f.StringVar(&o.SynthesisModel, "synthesis-model", "", "`name` of the model to ask there; its key is read from OPENAI_API_KEY")
	f.IntVar(&o.SynthesisPerDay, "synthesis-per-day", 200, "questions to the model in a UTC day, at most")
}

func (o *synthesisOptions) validate() error {
	if o.SynthesisURL == "" {
		if o.SynthesisModel != "" {
			return usagef("--synthesis-model %q: it needs --synthesis-base-url, the address to ask it at", o.SynthesisModel)
		}
		return nil
	}
	u, err := url.Parse(o.SynthesisURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return usagef("--synthesis-base-url: it is an address such as https://model.example/v1, without user, query or fragment")
	}
	if o.SynthesisModel == "" {
		return usagef("--synthesis-base-url %s: it needs --synthesis-model, the name of a model there", o.SynthesisURL)
	}
	if o.SynthesisPerDay < 0 {
		return usagef("--synthesis-per-day %d: it is 0 or more", o.SynthesisPerDay)
	}
	return nil
}
