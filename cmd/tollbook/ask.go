package main

import (
	"context"
	"time"

	"tollbook/cmd/tollbook/version"
	"tollbook/crawl/probe"
	"tollbook/site/x402"
)

// directoryAnswer is what a URL answers to a request without payment.
type directoryAnswer struct {
	Verdict string   `json:"verdict"` // paid, broken, open, inconclusive, failed, refused
	Reason  string   `json:"reason"`
	Method  string   `json:"method"`
	Options []option `json:"options"`
}

// gap is the time between two requests, if the first one needs another method or a sample.
const gap = time.Second

// ask requests a URL as the crawler does: through the guard, without paying.
func (o *checkOptions) ask(ctx context.Context, address string, record *record) *directoryAnswer {
	p := probe.New(probe.Options{Guard: &o.guard, Routes: o.routes, UserAgent: version.UserAgent(""), Pace: pace})
	defer p.Close()
	r := p.Probe(ctx, probe.Target{URL: address, Method: o.method(record)})
	a := &directoryAnswer{Verdict: string(r.Verdict), Reason: own(r.Reason), Method: r.Method, Options: []option{}}
	if e := r.Captured.Envelope; e != nil {
		for i := range e.Accepts {
			a.Options = append(a.Options, liveOption(r.Method, &e.Accepts[i]))
		}
	}
	return a
}

// method returns the method to ask with: the one of the command line, else the only one observed, else any.
func (o *checkOptions) method(record *record) string {
	if o.Method != "" || record == nil || len(record.options) == 0 {
		return o.Method
	}
	method := record.options[0].Method
	for _, k := range record.options {
		if k.Method != method {
			return ""
		}
	}
	return method
}

func liveOption(method string, r *x402.Requirement) option {
	o := option{Method: method, Scheme: r.Scheme, Network: r.NetworkCAIP2, Asset: r.Asset, AssetName: r.AssetName,
		Amount: r.Amount, PayTo: r.PayTo, upTo: r.Variable(), lost: r.PayToFault() != ""}
	if o.Network == "" {
		o.Network = r.Network
	}
	if o.Amount == "" {
		o.Amount = r.AmountRaw
	}
	if usd, ok := r.PriceUSD(); ok {
		o.PriceUSD = &usd
	}
	if reason := r.Unusable(); reason != "" {
		o.Unusable = &reason
	}
	return o
}

// pace waits between two requests, as a crawl does.
func pace(ctx context.Context, _ string) error {
	select {
	case <-time.After(gap):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
