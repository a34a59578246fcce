package sample

import (
	"fmt"
	"html"
	"net/http"
	"strings"
)

// document returns a document of the service's site. Services with a website have all documents.
func (s *service) document(r request) (reply, bool) {
	if !s.Website || r.method != http.MethodGet && r.method != http.MethodHead {
		return reply{}, false
	}
	switch r.path {
	case "/":
		return htmlPage(s.Name, s.Description), true
	case "/pricing":
		return htmlPage("Prices of "+s.Name, "A call is paid when it is made. There are no accounts."), true
	case "/terms":
		return htmlPage("Terms of "+s.Name, "This is a sample service. It keeps no promise and needs none."), true
	case "/robots.txt":
		return text(http.StatusOK, "User-agent: *\nAllow: /\n"), true
	case "/openapi.json":
		return json200(s.openAPI()), true
	case "/llms.txt":
		return text(http.StatusOK, fmt.Sprintf("# %s\n\n> %s\n", s.Name, s.Description)), true
	}
	return reply{}, false
}

// openAPI returns a description of the endpoints, with prices in the form that directories read, and of one operation
// that is free.
func (s *service) openAPI() string {
	paths := map[string]map[string]any{"/health": {"get": map[string]any{"summary": "Says that the service runs",
		"responses": map[string]any{"200": map[string]any{"description": "It runs"}}}}}
	for _, e := range s.endpoints {
		if paths[e.path] == nil {
			paths[e.path] = map[string]any{}
		}
		paths[e.path][strings.ToLower(e.method)] = map[string]any{
			"summary": e.description,
			"responses": map[string]any{"200": map[string]any{"description": "What was paid for"},
				"402": map[string]any{"description": "Payment required"}},
			"x-payment-info": map[string]any{"price": map[string]string{"mode": "fixed", "currency": "USD",
				"amount": e.price}, "protocols": []any{map[string]any{"x402": map[string]any{}}}},
		}
	}
	return string(encode(map[string]any{
		"openapi": "3.1.0",
		"info":    map[string]string{"title": s.Name, "version": "1.0.0", "description": s.Description},
		"servers": []map[string]string{{"url": s.baseURL()}},
		"paths":   paths,
	}))
}

func htmlPage(title, text string) reply {
	return reply{status: http.StatusOK, header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
		body: fmt.Appendf(nil,
			"<!DOCTYPE html>\n<html lang=\"en\"><head><title>%[1]s</title></head>"+
				"<body><h1>%[1]s</h1><p>%[2]s</p></body></html>\n",
			html.EscapeString(title), html.EscapeString(text))}
}
