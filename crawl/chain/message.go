package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"tollbook/crawl/probe"
)

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// releaseBuffer returns a buffer to the pool, unless it is one of the rare large ones.
func releaseBuffer(b *bytes.Buffer) {
	if b.Cap() <= 16<<20 {
		buffers.Put(b)
	}
}

// send sends one body. It points results into the answer, which the caller releases.
func (c *Client) send(ctx context.Context, n *Node, calls []Call, results ...*[]byte) (*bytes.Buffer, error) {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-c.slots }()
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	c.o.Metrics.Call(c.network)
	req, err := n.newRequest(ctx, calls)
	if err != nil {
		return nil, &NodeFault{KindRefused, n.host, "the URL is not valid for a request", 0}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, n.transportFault(err)
	}
	defer resp.Body.Close()
	body := buffers.Get().(*bytes.Buffer)
	body.Reset()
	if n := resp.ContentLength; n > 0 && n <= maxAnswer {
		body.Grow(int(n) + bytes.MinRead)
	}
	read, err := body.ReadFrom(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		err = n.transportFault(err)
	case read > maxAnswer:
		err = &NodeFault{KindRange, n.host, fmt.Sprintf("the answer has more than %d MiB", maxAnswer>>20), 0}
	case calls[0].Path != "":
		*results[0], err = n.readDocument(resp, body.Bytes())
	default:
		err = n.readBody(resp, body.Bytes(), results, calls[0].NoID)
	}
	if err != nil {
		releaseBuffer(body)
		return nil, err
	}
	return body, nil
}

// newRequest returns the request for calls: a POST of JSON-RPC, or a GET for one call with a path.
func (n *Node) newRequest(ctx context.Context, calls []Call) (req *http.Request, err error) {
	if path := calls[0].Path; path != "" {
		req, err = http.NewRequestWithContext(ctx, http.MethodGet, n.url, http.NoBody)
		if err == nil {
			path, query, _ := strings.Cut(path, "?")
			if req.URL.Path == "" { // JoinPath would add a path without its first slash
				req.URL.Path = "/"
			}
			req.URL = req.URL.JoinPath(path)
			req.URL.RawQuery = strings.Trim(req.URL.RawQuery+"&"+query, "&") // the node's own query may have a key
		}
	} else {
		req, err = http.NewRequestWithContext(ctx, http.MethodPost, n.url, bytes.NewReader(encode(calls)))
		if err == nil {
			req.Header.Set("Content-Type", "application/json")
		}
	}
	if err == nil {
		req.Header.Set("Accept", "application/json")
	}
	return req, err
}

// readDocument returns the document that a GET asked for. A problem document (RFC 9457) of the type not_found counts as
// null: the node has no such thing.
func (n *Node) readDocument(resp *http.Response, body []byte) ([]byte, error) {
	var problem struct{ Type, Title string }
	isObject := json.Unmarshal(body, &problem) == nil && bytes.HasPrefix(bytes.TrimSpace(body), []byte("{"))
	switch {
	case resp.StatusCode == http.StatusOK && isObject:
		return body, nil
	case resp.StatusCode == http.StatusOK:
		return nil, &NodeFault{kindMalformed, n.host, fmt.Sprintf("%.40q is not a JSON object", body), 0}
	case resp.StatusCode == http.StatusNotFound && strings.HasSuffix(problem.Type, "/not_found"):
		return []byte("null"), nil
	}
	return nil, &NodeFault{kindOfStatus(resp.StatusCode), n.host,
		strings.TrimSpace(fmt.Sprintf("%s %.200s", resp.Status, problem.Title)),
		retryAfter(resp)}
}

// encode encodes calls, numbered from 1. Several become a batch; one is sent alone, since some nodes accept no batches.
func encode(calls []Call) []byte {
	size := 2
	for i := range calls {
		size += 64 + len(calls[i].Method) + len(calls[i].Params)
	}
	b := make([]byte, 0, size)
	for i, c := range calls {
		if i == 0 {
			b = append(b, '[')
		} else {
			b = append(b, ',')
		}
		b = append(b, `{"jsonrpc":"2.0","id":`...)
		b = strconv.AppendInt(b, int64(i+1), 10)
		b = append(b, `,"method":"`...)
		b = append(b, c.Method...)
		b = append(b, `","params":`...)
		b = append(b, c.Params...)
		b = append(b, '}')
	}
	if len(calls) == 1 {
		return b[1:]
	}
	return append(b, ']')
}

// transportFault returns the fault of a request without an answer. It omits the URL, which net/http's own error
// contains.
func (n *Node) transportFault(err error) *NodeFault {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	k := KindServer
	var timeout net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		k = kindTimeout
	} else if errors.Is(err, io.ErrUnexpectedEOF) {
		k = kindMalformed
	}
	return &NodeFault{k, n.host, err.Error(), 0}
}

// readBody reads a body, whose only answer may lack its id. An error in the body counts more than the status.
func (n *Node) readBody(resp *http.Response, body []byte, results []*[]byte, noID bool) error {
	wait := retryAfter(resp)
	refused, err := readAnswers(body, results, noID)
	switch {
	case refused != nil:
		f := &NodeFault{refused.kindOf(), n.host,
			fmt.Sprintf("%d %.200s %.200s", refused.code, refused.message, refused.data), wait}
		if f.Kind == KindServer && resp.StatusCode != http.StatusOK {
			f.Kind = kindOfStatus(resp.StatusCode)
		}
		return f
	case resp.StatusCode != http.StatusOK:
		return &NodeFault{kindOfStatus(resp.StatusCode), n.host, resp.Status, wait}
	case err != nil:
		return &NodeFault{kindMalformed, n.host, err.Error(), wait}
	}
	return nil
}

// retryAfter returns the wait that a response asks for, at most maxWait.
func retryAfter(resp *http.Response) time.Duration {
	wait, _ := probe.RetryAfter(resp.Header, time.Now())
	return min(wait, maxWait)
}

// readAnswers sets the results of calls 1 to len(results), which a body may have in any order, or returns an error.
// With noID an answer without id is that of call 1.
func readAnswers(body []byte, results []*[]byte, noID bool) (*rpcError, error) {
	s := NewScanner(body)
	for _, r := range results {
		*r = nil
	}
	var refused *rpcError
	one := func() {
		id, result, e := readAnswer(s)
		if noID && id == 0 {
			id = 1
		}
		switch {
		case s.Err != nil:
		case e != nil:
			if refused == nil {
				refused = e
			}
		case id < 1 || id > int64(len(results)) || *results[id-1] != nil:
			s.Fail(fmt.Errorf("an answer has the unknown id %d", id))
		case result == nil:
			s.Fail(errors.New("an answer has neither result nor error"))
		default:
			*results[id-1] = result
		}
	}
	if s.Peek() == '[' {
		for range s.Elements {
			one()
		}
	} else {
		one()
	}
	if err := s.End(); err != nil {
		if len(body) == 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	if refused != nil {
		return refused, nil
	}
	for i, r := range results {
		if *r == nil {
			return nil, fmt.Errorf("request %d of %d has no answer", i+1, len(results))
		}
	}
	return nil, nil
}

func readAnswer(s *Scanner) (id int64, result []byte, e *rpcError) {
	for key := range s.Members {
		switch string(key) {
		case "id":
			if !s.Null() { // null in an error about a request that the node could not read
				id = s.Integer()
			}
		case "result":
			s.Peek()
			result = s.Value()
		case "error":
			if !s.Null() {
				e = readError(s)
			}
		default:
			s.Value()
		}
	}
	return id, result, e
}

func readError(s *Scanner) *rpcError {
	e := &rpcError{}
	if s.Peek() == '"' { // the form of some gateways
		e.message = string(s.Text())
		return e
	}
	for key := range s.Members {
		switch {
		case string(key) == "code" && s.Peek() != '"' && s.Peek() != 'n':
			raw := s.Value()
			code, _ := strconv.ParseFloat(string(raw), 64) // the text counts more
			e.code = int64(code)
		case string(key) == "message" && s.Peek() == '"':
			e.message = string(s.Text())
		case string(key) == "data":
			e.data = string(s.Value())
		default:
			s.Value()
		}
	}
	return e
}
