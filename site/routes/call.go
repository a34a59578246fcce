package routes

import (
	"net/http"
	"strings"

	"tollbook/site"
)

// Call is an endpoint whose response is not a file of a snapshot, because it depends on a database.
type Call struct {
	Name     string
	Method   string
	Pattern  string // "{id}" matches one path segment
	Body     any    // request body, a value as in Responses; nil for none
	Status   int    // HTTP status of success
	Response any    // response body, a value as in Responses
	About    string
}

// Calls lists every call. A server that does not accept submissions serves none of them.
var Calls = []Call{
	{
		Name: "submit", Method: "POST", Pattern: "/v1/submit", Body: site.Submission{}, Status: 201,
		Response: site.Uncited[site.SubmissionResult]{},
		About: "Submits a service for listing. The submission is stored, its endpoints are probed once without " +
			"payment, and a person reviews it. " +
			"With an Idempotency-Key it is safe to repeat the request: the same submission gets the first " +
			"response again, a different one gets a 400.",
	},
	{
		Name: "suggestions", Method: "POST", Pattern: "/v1/suggestions", Body: site.Suggestion{}, Status: 201,
		Response: site.Uncited[site.SuggestionResult]{},
		About: "Suggests something to the operator of the directory. The suggestion is stored for a person to read, " +
			"and never published. Sending the same text again within a day gets the first response again.",
	},
	{
		Name: "recheck", Method: "POST", Pattern: "/v1/services/{slug}/recheck", Status: 202,
		Response: site.Uncited[site.RecheckResult]{},
		About: "Makes a service due for a visit at once. The request has no body. A service can be checked again " +
			"ten minutes after the last such request and twelve times in 24 hours; a client may ask for ten " +
			"re-checks an hour. The host's pace stays as it is.",
	},
	{
		Name: "submission", Method: "GET", Pattern: "/v1/submissions/{id}", Status: 200,
		Response: site.Uncited[site.SubmissionState]{},
		About:    "Status of a submission, for anybody who has its id.",
	},
}

// IsPost reports whether the call only accepts POST.
func (c *Call) IsPost() bool { return c != nil && c.Method == http.MethodPost }

var aliases = Table().Aliases

// FindCall returns the call whose pattern matches a path, or that path under an alias, and the variable segment of the
// path, "" without one. It returns nil if the path is not that of a call.
func FindCall(path string) (call *Call, segment string) {
	for _, alias := range aliases {
		if rest, ok := strings.CutPrefix(path, alias.From); ok {
			path = alias.To + rest
		}
	}
	for i := range Calls {
		head, tail, varies := strings.Cut(Calls[i].Pattern, "{")
		_, tail, _ = strings.Cut(tail, "}")
		rest, begins := strings.CutPrefix(path, head)
		segment, ends := strings.CutSuffix(rest, tail)
		if begins && ends && varies == (segment != "") && !strings.Contains(segment, "/") {
			return &Calls[i], segment
		}
	}
	return nil, ""
}

// CallByName returns the call with this name. It panics if there is none.
func CallByName(name string) *Call {
	for i := range Calls {
		if Calls[i].Name == name {
			return &Calls[i]
		}
	}
	panic("routes: no call " + name)
}
