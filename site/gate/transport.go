package gate

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// maxChallenge is the size in bytes up to which the body of a 402 is read.
const maxChallenge = 1 << 20

// Headers of version 2 of x402 with the payment terms, and of other protocols' challenges.
const (
	termsHeader     = "Payment-Required"
	challengeHeader = "Www-Authenticate"
)

// Transport lets a paying client of x402 see only the payment terms that the guard allows. It stands below the client's
// own transport, so whatever pays sees the 402 after it. If no term is left, the request fails with an error that wraps
// ErrRefused, and nothing is signed. Challenges of other protocols have no verdict here.
type Transport struct {
	Guard *Guard
	Base  http.RoundTripper // http.DefaultTransport for nil
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := cmp.Or[http.RoundTripper](t.Base, http.DefaultTransport).RoundTrip(r)
	if err != nil || answer.StatusCode != http.StatusPaymentRequired {
		return answer, err
	}
	if err := t.filter(r, answer); err != nil {
		answer.Body.Close()
		return nil, err
	}
	return answer, nil
}

// filter takes the terms out of a 402 that are not allowed.
func (t *Transport) filter(r *http.Request, answer *http.Response) error {
	resource := r.URL.String()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxChallenge+1))
	if err != nil {
		return fmt.Errorf("read the payment terms of %s: %w", resource, err)
	}
	if len(body) > maxChallenge {
		return fmt.Errorf("%w: the payment terms of %s have more than %d bytes", ErrRefused, resource, maxChallenge)
	}
	found := false
	var refused error
	keep := func(text []byte) ([]byte, error) {
		kept, ok, err := t.keepAllowed(r, resource, text)
		found, refused = found || ok, cmp.Or(refused, err)
		if !ok {
			return text, nil
		}
		return kept, err
	}
	filtered, bodyErr := keep(body)
	if bodyErr != nil {
		filtered = nil
	}
	left := found && bodyErr == nil
	if header := answer.Header.Get(termsHeader); header != "" {
		if text, err := base64.StdEncoding.DecodeString(header); err != nil {
			answer.Header.Del(termsHeader)
		} else if kept, err := keep(text); err != nil {
			answer.Header.Del(termsHeader)
		} else {
			answer.Header.Set(termsHeader, base64.StdEncoding.EncodeToString(kept))
			left = true
		}
	}
	if answer.Header.Get(challengeHeader) != "" && t.Guard.Unreachable != Allow {
		answer.Header.Del(challengeHeader)
	}
	if !left && (found || t.Guard.Unreachable != Allow) {
		return cmp.Or(refused, fmt.Errorf("%w: %s names no payment terms of x402", ErrRefused, resource))
	}
	answer.Body.Close()
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(filtered)), int64(len(filtered))
	answer.Header.Set("Content-Length", strconv.Itoa(len(filtered)))
	answer.Header.Del("Content-Encoding")
	return nil
}

// keepAllowed returns payment terms with the rows that are allowed. found says that there are rows, and the error that
// none of them is allowed.
func (t *Transport) keepAllowed(r *http.Request, resource string, text []byte) (kept []byte, found bool, err error) {
	var terms map[string]json.RawMessage
	var rows []json.RawMessage
	if json.Unmarshal(text, &terms) != nil || json.Unmarshal(terms["accepts"], &rows) != nil || len(rows) == 0 {
		return text, false, nil
	}
	for name := range terms { // a client may read it as accepts
		if name != "accepts" && strings.EqualFold(name, "accepts") {
			delete(terms, name)
		}
	}
	var refused error
	allowed := []map[string]json.RawMessage{}
	for _, text := range rows {
		row, options, err := readRow(text)
		if err != nil {
			err = fmt.Errorf("%w: read a payment option of %s: %w", ErrRefused, resource, err)
		}
		for _, q := range options {
			if err == nil {
				_, err = t.Guard.Check(r.Context(), q, resource)
			}
		}
		if err == nil {
			allowed = append(allowed, row)
		}
		refused = cmp.Or(refused, err)
	}
	if len(allowed) == 0 {
		return nil, true, refused
	}
	if terms["accepts"], err = json.Marshal(allowed); err != nil {
		return nil, true, errors.Join(ErrRefused, err)
	}
	kept, err = json.Marshal(terms)
	return kept, true, err
}

// readRow reads a row of accepts. It has a requirement for each amount that the row states, because a client of version
// 1 pays maxAmountRequired and one of version 2 pays amount. Members that a client may take for another are errors.
func readRow(text []byte) (row map[string]json.RawMessage, list []Requirement, err error) {
	if err := json.Unmarshal(text, &row); err != nil {
		return nil, nil, err
	}
	var q Requirement
	var amount, most string
	for name, into := range map[string]*string{"network": &q.Network, "asset": &q.Asset, "payTo": &q.PayTo,
		"amount": &amount, "maxAmountRequired": &most} {
		for other := range row {
			if other != name && strings.EqualFold(other, name) {
				return nil, nil, fmt.Errorf("its member %.40q is like %s", other, name)
			}
		}
		if value, ok := row[name]; ok {
			if err := json.Unmarshal(value, into); err != nil {
				return nil, nil, fmt.Errorf("its member %s: %w", name, err)
			}
		}
	}
	for _, a := range []string{amount, most} {
		if a != "" || a == amount && most == "" {
			q.Amount = a
			list = append(list, q)
		}
	}
	return row, list, nil
}
