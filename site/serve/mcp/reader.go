package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"

	"tollbook/site"
	"tollbook/site/routes"
	"tollbook/site/serve"
)

// maxAnswer is the maximum size of a response in bytes. Agents cannot use larger ones.
const maxAnswer = 1 << 20

// reader sends requests to the handler of the API.
type reader struct {
	handler http.Handler
	logger  *slog.Logger
}

// answer is a response of the handler.
type answer struct {
	code   int
	header http.Header
	body   bytes.Buffer
}

// end writes the end of a JSON object, with provenance unless it is nil.
func (a *answer) end(provenance json.RawMessage) {
	if provenance != nil {
		fmt.Fprintf(&a.body, `,"provenance":%s`, provenance)
	}
	a.body.WriteByte('}')
}

// ask sends a GET request for an escaped path.
func (r reader) ask(ctx context.Context, path, query string) *answer {
	target := path
	if query != "" {
		target += "?" + query
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil { // unreachable by the paths of the route table, which are valid URLs
		return failed(site.Error{Code: http.StatusBadRequest, Type: site.ErrorBadRequest,
			Message: "this is not a valid request"})
	}
	w := serve.Ask(r.handler, req, maxAnswer)
	if w.IsOver {
		return failed(site.Error{Code: http.StatusBadRequest, Type: site.ErrorBadRequest,
			Message: fmt.Sprintf("the response has more than %d bytes; request fewer rows, or use GET %s of the API",
				maxAnswer, target)})
	}
	return &answer{code: w.Code, header: w.Header, body: w.Body}
}

// failed returns the response for an error.
func failed(e site.Error) *answer {
	a := &answer{code: e.Code, header: http.Header{"Content-Type": {routes.TypeJSON}}}
	body, err := json.Marshal(site.ErrorBody{Error: e})
	if err != nil {
		panic(err) // strings and a number
	}
	a.body.Write(body)
	return a
}

// invalid returns the error response for one argument, as the API returns it for a parameter.
func invalid(name, message string) *answer {
	e := &routes.ParamError{Param: name, Message: message}
	return failed(site.Error{
		Code: http.StatusBadRequest, Type: site.ErrorInvalidParameter, Message: e.Error(),
		Fields: []site.ErrorField{{Field: name, Message: message}},
	})
}

// reason returns the message of an error response.
func (a *answer) reason() string {
	var e site.ErrorBody
	if err := json.Unmarshal(a.body.Bytes(), &e); err != nil || e.Error.Message == "" {
		return http.StatusText(a.code)
	}
	return e.Error.Message
}
