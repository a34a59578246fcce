package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"

	"tollbook/site"
)

// maxAnswer bounds an answer in bytes: what is more would not fit what an agent can read.
const maxAnswer = 1 << 20

// reader asks the handler that answers readers.
type reader struct {
	handler http.Handler
	logger  *slog.Logger
}

// answer is what the reader answered.
type answer struct {
	code   int
	header http.Header
	body   bytes.Buffer
	over   bool // it has more than maxAnswer
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(code int) { a.code = code }

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) {
	if a.over = a.over || a.body.Len()+len(b) > maxAnswer; a.over {
		return 0, fmt.Errorf("answer of more than %d bytes", maxAnswer)
	}
	return a.body.Write(b)
}

// ask answers a GET of an escaped path.
func (r reader) ask(ctx context.Context, path, query string) *answer {
	a := &answer{code: http.StatusOK, header: http.Header{}}
	target := path
	if query != "" {
		target += "?" + query
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil { // no path of the table does this
		return failed(site.Error{Code: http.StatusBadRequest, Type: site.ErrorBadRequest,
			Message: "this can't be read as a request"})
	}
	req.RequestURI = target
	r.handler.ServeHTTP(a, req)
	if a.over {
		return failed(site.Error{Code: http.StatusBadRequest, Type: site.ErrorBadRequest,
			Message: fmt.Sprintf("the answer has more than %d bytes: ask for fewer rows, or read GET %s of the API",
				maxAnswer, target)})
	}
	return a
}

// failed is the answer that an error is.
func failed(e site.Error) *answer {
	a := &answer{code: e.Code, header: http.Header{"Content-Type": {site.TypeJSON}}}
	body, err := json.Marshal(site.ErrorBody{Error: e})
	if err != nil {
		panic(err) // strings and a number
	}
	a.body.Write(body)
	return a
}

// invalid is the error of one argument, as the API says it of a parameter.
func invalid(name, message string) *answer {
	e := &site.ParamError{Param: name, Message: message}
	return failed(site.Error{
		Code: http.StatusBadRequest, Type: site.ErrorInvalidParameter, Message: e.Error(),
		Fields: []site.ErrorField{{Field: name, Message: message}},
	})
}

// reason is the message of an error.
func (a *answer) reason() string {
	var e site.ErrorBody
	if err := json.Unmarshal(a.body.Bytes(), &e); err != nil || e.Error.Message == "" {
		return http.StatusText(a.code)
	}
	return e.Error.Message
}
