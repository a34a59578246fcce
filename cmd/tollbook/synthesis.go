package main

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"tollbook/crawl"
	"tollbook/crawl/model"
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

// synthesis is what the crawler is given: nothing without an address.
func (o *synthesisOptions) synthesis() crawl.Synthesis {
	if o.SynthesisURL == "" {
		return crawl.Synthesis{}
	}
	client := model.New(model.Options{BaseURL: o.SynthesisURL, Model: o.SynthesisModel, Key: os.Getenv("OPENAI_API_KEY")})
	return crawl.Synthesis{Client: client, PerDay: o.SynthesisPerDay}
}

// asked is the report of a round, nil when no model is configured.
func (o *synthesisOptions) asked(s crawl.SynthesisReport) *crawl.SynthesisReport {
	if o.SynthesisURL == "" {
		return nil
	}
	return &s
}

// synthesisText is a line on a round's questions, "" without a model.
func synthesisText(s *crawl.SynthesisReport) string {
	if s == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d questions to the model: %d answers kept", s.Asked, s.Accepted)
	if n := s.Asked - s.Accepted; n > 0 {
		var reasons []string
		for _, reason := range slices.Sorted(maps.Keys(s.Refused)) {
			reasons = append(reasons, fmt.Sprintf("%s %d", reason, s.Refused[reason]))
		}
		fmt.Fprintf(&b, ", %d dropped (%s)", n, strings.Join(reasons, ", "))
	}
	if s.Spent {
		b.WriteString("; the day's questions are all asked")
	}
	if s.Stopped != "" {
		fmt.Fprintf(&b, "; no more were asked: %s", s.Stopped)
	}
	b.WriteByte('\n')
	return b.String()
}
