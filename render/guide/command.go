// This part of the package writes the commands and programs with which readers ask an endpoint for its price or pay
// it. They contain addresses, amounts and examples that strangers wrote, and readers paste them into a shell or run
// them.
//
// It must never know a page.

package guide

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/display"
)

// Request is a request to an endpoint that a command or program sends, or the call of an MCP tool.
type Request struct {
	Method  string // in capitals
	URL     string // absolute, percent-encoded, without a fragment
	Body    string // JSON, the arguments of a tool; "" sends none
	Tool    string // name of the MCP tool; "" for a request
	Missing string // what nobody declares and a reader must fill in before paying, as "q, lang"; "" for nothing
}

// toolForm is the form of a tool's name, which leaves no quotes.
var toolForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// NewRequest returns the request of an endpoint without input, and false unless its method, its URL and its tool are
// plain: none of them can leave the quotes of a command.
func NewRequest(base string, e *site.Endpoint) (Request, bool) {
	if e.Method == "" || len(e.Method) > 16 || strings.Trim(e.Method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return Request{}, false
	}
	path, tool, isTool := strings.Cut(e.Path, "#")
	if isTool = isTool && e.Method == "POST"; isTool && !toolForm.MatchString(tool) {
		return Request{}, false
	}
	if !isTool {
		tool = "" // a fragment, which no client sends
	}
	r := Request{Method: e.Method, URL: display.Link(display.EndpointURL(base, path)), Tool: tool}
	switch r.Method {
	case "POST", "PUT", "PATCH":
		r.Body = "{}"
	}
	return r, r.URL != ""
}

// Address returns the URL under which the directory lists the request: that of a tool has its name as fragment.
func (r Request) Address() string {
	if r.Tool != "" {
		return r.URL + "#" + r.Tool
	}
	return r.URL
}

// fill returns the request with the values of its declared fields. Required fields without a value become placeholders
// and are missing, as a body is of which nothing is known. declaresNone says that the service declares that a tool
// takes no arguments.
func (r Request) fill(fields []site.RequestField, declaresNone bool) Request {
	var missing, query, members []string
	for _, f := range fields {
		value := f.Value
		if value == "" {
			if !f.Required {
				continue
			}
			missing = append(missing, f.Name)
			value = `"<` + f.Name + `>"`
		}
		text := value
		_ = json.Unmarshal([]byte(value), &text) // the text of a string, any other value as it is
		switch f.In {
		case site.InQuery:
			query = append(query, escape(f.Name)+"="+escape(text))
		case site.InPath:
			if f.Value != "" {
				r.URL = fillPath(r.URL, f.Name, escape(text))
			}
		default:
			members = append(members, `"`+f.Name+`":`+value)
		}
	}
	if len(query) > 0 {
		separator := "?"
		if strings.Contains(r.URL, "?") {
			separator = "&"
		}
		r.URL += separator + strings.Join(query, "&")
	}
	switch {
	case r.Body == "":
	case len(members) > 0:
		r.Body = "{" + strings.Join(members, ",") + "}"
	case r.Tool == "":
		missing = append(missing, "the body")
	case !declaresNone:
		missing = append(missing, "the arguments")
	}
	r.Missing = strings.Join(missing, ", ")
	return r
}

// fillPath returns a URL with a value for a variable part of its path, {name} or :name.
func fillPath(address, name, value string) string {
	path, query, hasQuery := strings.Cut(address, "?")
	parts := strings.Split(strings.ReplaceAll(path, "{"+name+"}", value), "/")
	for i := range parts {
		if parts[i] == ":"+name {
			parts[i] = value
		}
	}
	if path = strings.Join(parts, "/"); hasQuery {
		path += "?" + query
	}
	return path
}

// escape percent-encodes all but letters, digits and -_.~. The result ends no string in any of the languages.
func escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// withoutQuery returns the fields that the query of a URL does not contain already.
func withoutQuery(fields []site.RequestField, address string) []site.RequestField {
	u, err := url.Parse(address)
	if err != nil || u.RawQuery == "" {
		return fields
	}
	has := u.Query()
	return slices.DeleteFunc(slices.Clone(fields), func(f site.RequestField) bool {
		return f.In == site.InQuery && has.Has(f.Name)
	})
}

// Guard returns the message with which a program that would pay for a request with missing input stops, "" for none.
func (r Request) Guard() string {
	if r.Missing == "" {
		return ""
	}
	return "Fill in " + r.Missing + " first, then delete this."
}

// guardCommand returns a command that would pay, with its guard in front.
func (r Request) guardCommand(command string) string {
	if guard := r.Guard(); guard != "" {
		return "echo " + shellQuote(guard) + " || " + command
	}
	return command
}

// Curl returns the command that asks for a price without paying. The answer is a 402 with the price, or from an MCP
// server a result with it.
func (r Request) Curl() string {
	command := "curl -i"
	if strings.ContainsAny(r.URL, "[]{}") {
		command += " -g"
	}
	switch r.Method {
	case "GET":
	case "HEAD":
		command = strings.Replace(command, "-i", "-I", 1)
	default:
		command += " -X " + r.Method
	}
	command += " '" + r.URL + "'"
	body := r.Body
	if r.Tool != "" {
		command += " -H 'accept: application/json, text/event-stream'"
		body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + r.Tool + `","arguments":` + body + `}}`
	}
	if body != "" {
		command += " -H 'content-type: application/json' -d " + shellQuote(body)
	}
	return command
}

// shellQuote quotes text for a shell.
func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
