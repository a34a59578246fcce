package x402

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Capture reads one response leniently. It reads every channel in order, chooses the best envelope, and records
// everything that a strict client refuses. It never fails and never panics. For a response without payment terms it
// returns an empty Captured.
//
// An envelope counts only with status 402 or 412. With any other status it is one of the Others. An answer to the call
// of an MCP tool, whose URL ends in #TOOL, has status 200 and its envelope in the result.
func Capture(a Answer) Captured {
	if len(a.Body) > MaxBody {
		a.Body, a.Truncated = a.Body[:MaxBody], true
	}
	a.Body = bytes.Clone(a.Body) // the result must not change with the caller's buffer
	a.Header = canonicalHeader(a.Header)
	var d defects
	envelopes, isTool := toolEnvelopes(a)
	if !isTool || a.Status != http.StatusOK && len(envelopes) == 0 {
		envelopes, isTool = append(headerEnvelopes(a.Header, &d), bodyEnvelopes(a, &d)...), false
	}
	c := Captured{}
	if n := headerBytes(a.Header); n > clientHeader {
		d.add(headerLarge, fmt.Sprintf("%d KiB", n>>10))
	}
	c.Protocols = protocols(a, &d)
	chosen := choose(envelopes)
	if chosen >= 0 && !isTool && a.Status != 402 && a.Status != 412 {
		d.add(statusNot402)
		chosen = -1
	}
	for i, e := range envelopes {
		if i == chosen {
			c.Envelope = &envelopes[i]
		} else {
			c.Others = append(c.Others, e)
		}
	}
	if c.Envelope != nil {
		c.Relation = relation(*c.Envelope, c.Others)
		if c.Divergent = c.Relation == Divergent; c.Divergent {
			d.add(channelsDiverge)
		}
		if c.Envelope.Version == 1 && slices.ContainsFunc(c.Others, currentHeader) {
			d.add(versionConflict)
		}
		c.Defects = slices.Concat(d.list, c.Envelope.Defects)
	} else {
		c.Defects = d.list
		c.Platform = len(envelopes) == 0 && len(c.Protocols) == 0 && platformPage(a)
	}
	return c
}

// clientHeader is the largest size of all response headers that Node.js accepts by default, in bytes.
const clientHeader = 16 << 10

// headerBytes returns the size of headers as they are sent over HTTP/1.1.
func headerBytes(h http.Header) (n int) {
	for name, values := range h {
		for _, value := range values {
			n += len(name) + len(": ") + len(value) + len("\r\n")
		}
	}
	return n
}

func currentHeader(e Envelope) bool { return e.Channel == ChannelHeader && e.Version >= 2 }

// Reread reads an envelope again from its stored parts: Envelope.Raw, Channel and Decode. With the Defects, Divergent
// and Protocols of its Captured, Assess can then judge old evidence by newer rules. Reread also reads an entry of a
// facilitator's catalogue, which has the shape of an envelope. It returns false for text that is not JSON or not an
// envelope.
func Reread(raw json.RawMessage, channel Channel, decode string) (Envelope, bool) {
	if len(raw) > MaxBody || depth(raw) > maxDepth || !json.Valid(raw) {
		return Envelope{}, false
	}
	return readEnvelope(bytes.Clone(raw), channel, decode)
}

// headerEnvelopes reads PAYMENT-REQUIRED and its aliases, each value by itself. If it can read none, it also tries a
// value that a proxy split at its commas, and several values that a proxy joined by commas.
func headerEnvelopes(h http.Header, d *defects) []Envelope {
	var envelopes []Envelope
	for i, name := range headerNames {
		channel := ChannelHeader
		if i > 0 {
			channel = ChannelAlias
		}
		values := h[headerKeys[i]]
		if len(values) > 1 && channel == ChannelHeader {
			d.add(headerRepeated)
		}
		readable := readHeader(values[:min(len(values), maxHeaderValues)], name, channel, d)
		if len(values) > 0 && len(readable) == 0 && channel == ChannelHeader {
			d.add(headerUndecodable)
		}
		envelopes = append(envelopes, readable...)
	}
	return envelopes
}

func readHeader(values []string, name string, channel Channel, d *defects) []Envelope {
	var envelopes []Envelope
	try := func(value string) {
		if len(value) > MaxHeader {
			d.add(headerOversize, name)
			return
		}
		text, ok := decodeValue(value)
		if !ok {
			if depth([]byte(value)) > maxDepth {
				d.add(jsonTooDeep, name)
			}
			return
		}
		e, ok := readEnvelope(text.text, channel, text.variant)
		if !ok || slices.ContainsFunc(envelopes,
			func(old Envelope) bool { return bytes.Equal(old.Raw, e.Raw) && old.Decode == e.Decode }) {
			return
		}
		own := defects{}
		if channel == ChannelAlias {
			own.add(headerAlias, name)
		}
		for _, code := range text.leniency {
			own.add(code)
		}
		e.Defects = append(own.list, e.Defects...)
		envelopes = append(envelopes, e)
	}
	for _, value := range values {
		try(value)
	}
	if len(envelopes) > 0 {
		return envelopes
	}
	if len(values) > 1 { // one value that was split at its commas
		try(joinValues(values))
	} else if len(values) == 1 && strings.Contains(values[0], ",") { // several values that were joined on the way
		parts := strings.SplitN(values[0], ",", maxHeaderValues+1)
		for _, part := range parts[:min(len(parts), maxHeaderValues)] {
			try(part)
		}
		if len(envelopes) > 0 && channel == ChannelHeader {
			d.add(headerRepeated)
		}
	}
	return envelopes
}

func joinValues(values []string) string {
	joined := values[0]
	for _, value := range values[1:] {
		if len(joined)+len(value) < MaxHeader {
			joined += "," + value
		}
	}
	return joined
}

// choose returns the index of the envelope that counts, or -1 without one. It prefers an envelope that clients can pay
// by, then one that can be paid at all, then one with offers, then compares channel and version, then takes the first.
func choose(envelopes []Envelope) int {
	if len(envelopes) < 2 {
		return len(envelopes) - 1
	}
	best, least := -1, 0
	for i := range envelopes {
		if n := rank(&envelopes[i]); best < 0 || n < least {
			best, least = i, n
		}
	}
	return best
}

// rank returns an envelope's place in the order. Of envelopes that are equally good, a version 2 header comes first,
// then a version 2 alias, the body (2 before 1), a header with version 1, a page.
func rank(e *Envelope) int {
	n := 0
	switch {
	case len(e.Accepts) == 0:
		n = 300
	case !slices.ContainsFunc(e.Accepts, Requirement.Usable):
		n = 200
	case !slices.Contains(UnsignableRows(Evidence{Captured: Captured{Envelope: e, Defects: e.Defects}}), ""):
		n = 100
	}
	current := e.Version >= 2
	switch {
	case e.Channel == ChannelHeader && current:
		return n
	case e.Channel == ChannelAlias && current:
		return n + 1
	case e.Channel == ChannelBody && current:
		return n + 2
	case e.Channel == ChannelNested && current:
		return n + 3
	case e.Channel == ChannelBody:
		return n + 4
	case e.Channel == ChannelNested:
		return n + 5
	case e.Channel == ChannelHeader:
		return n + 6
	case e.Channel == ChannelAlias:
		return n + 7
	}
	return n + 8
}

// offer contains the terms of a row, in one form for both versions.
type offer struct{ scheme, network, asset, payTo, amount string }

func offers(e Envelope) map[offer]bool {
	set := map[offer]bool{}
	for _, r := range e.Accepts {
		set[r.offer()] = true
	}
	return set
}

// SameOffer reports whether two rows ask for the same payment, in the form of either version.
func (r Requirement) SameOffer(other Requirement) bool { return r.offer() == other.offer() }

func (r Requirement) offer() offer {
	return offer{r.Scheme, r.networkKey(), r.AssetNorm, r.PayToNorm, r.amountKey()}
}

// networkKey and amountKey return the normalised value, or the received text if it could not be normalised.
func (r Requirement) networkKey() string {
	if r.NetworkCAIP2 == "" {
		return r.Network
	}
	return r.NetworkCAIP2
}

func (r Requirement) amountKey() string {
	if r.Amount == "" {
		return r.AmountRaw
	}
	return r.Amount
}

// relation compares the chosen envelope with the others. An envelope without offers contradicts nothing. Within one
// version the offers must be equal. Between versions, one envelope may have fewer offers, since version 1 cannot
// express everything, but none that the other lacks.
func relation(chosen Envelope, others []Envelope) Relation {
	mine, result := offers(chosen), Single
	for _, other := range others {
		theirs := offers(other)
		if len(theirs) == 0 {
			continue
		}
		same := chosen.Version == other.Version
		if !subset(theirs, mine) && (same || !subset(mine, theirs)) || same && len(theirs) != len(mine) {
			return Divergent
		}
		if !same {
			result = DualStack
		} else if result == Single {
			result = Mirror
		}
	}
	return result
}

func subset(small, large map[offer]bool) bool {
	for o := range small {
		if !large[o] {
			return false
		}
	}
	return true
}
