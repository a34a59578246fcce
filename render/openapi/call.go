package openapi

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/encode"
	"tollbook/site/routes"
	"tollbook/site/schema"
)

// exampleSubmission is an example of the body of a submission.
var exampleSubmission = site.Submission{
	URL: "https://api.acme.example", Email: "owner@acme.example", ServiceName: "Acme Quotes",
	Description: "Share prices per call.",
	WebsiteURL:  "https://acme.example", Category: "Finance", Endpoints: []string{"/quote", "POST /search"},
}

// exampleSuggestion is an example of the body of a suggestion.
var exampleSuggestion = site.Suggestion{Text: "Acme Quotes moved to https://quotes.acme.example.",
	Category: "correction", Email: "reader@acme.example"}

// exampleBody returns an example of the body of a call, as JSON.
func exampleBody(c *routes.Call) ([]byte, error) {
	if _, ok := c.Body.(site.Suggestion); ok {
		return encode.Row(exampleSuggestion)
	}
	return encode.Row(exampleSubmission)
}

// exampleID is the id of the example of a submission.
const exampleID = "6f1c9a52-7b0e-4d3a-9c8f-2e5b7a1d4c60"

// exampleResponse returns an example of the response to a call, which no snapshot contains.
func (a *Document) exampleResponse(c *routes.Call) any {
	at := site.Time{Time: a.examples.now}
	probe := &site.ProbeResult{EndpointsFound: len(exampleSubmission.Endpoints), Errors: []string{}}
	switch c.Response.(type) {
	case site.Uncited[site.SubmissionResult]:
		return site.Uncited[site.SubmissionResult]{Data: site.SubmissionResult{SubmissionID: exampleID,
			Status: site.SubmissionPending, ProbeResult: probe}}
	case site.Uncited[site.SubmissionState]:
		return site.Uncited[site.SubmissionState]{Data: site.SubmissionState{SubmissionID: exampleID,
			Status: site.SubmissionPending, ProbeResult: probe, ReceivedAt: at}}
	case site.Uncited[site.SuggestionResult]:
		return site.Uncited[site.SuggestionResult]{Data: site.SuggestionResult{SuggestionID: exampleID, ReceivedAt: at}}
	case site.Uncited[site.RecheckResult]:
		result := site.RecheckResult{Slug: "acme-quotes", NextCheckAt: at}
		if service := a.examples.service; service != nil {
			result.Slug, result.LastCheckedAt = service.Slug, service.LastCheckedAt
		}
		result.ChecksURL = apiPrefix + "/services/" + result.Slug + "/checks"
		return site.Uncited[site.RecheckResult]{Data: result}
	}
	return nil
}

// addCall adds the operation of a call, which no file answers.
func (a *Document) addCall(c *routes.Call) error {
	op := &operation{ID: strings.Replace(operationID(c.Name), "get", strings.ToLower(c.Method), 1),
		Summary:     strings.TrimSuffix(c.About, "."),
		Description: c.About, Tags: []string{tagSubmit}, pattern: c.Pattern, call: c}
	op.Parameters = a.pathParameters(c.Pattern)
	ok := &apiResponse{Description: "The requested data."}
	failed := failures[1:] // a call never returns 304
	switch {
	case c.Body != nil:
		content, err := a.schemas.Of(reflect.TypeOf(c.Body))
		if err != nil {
			return err
		}
		example, err := exampleBody(c)
		if err != nil {
			return err
		}
		op.RequestBody = &requestBody{Required: true,
			Content: schema.Object[mediaType]{{Name: jsonType, Value: mediaType{content, json.RawMessage(example)}}}}
		op.Parameters = append(op.Parameters, parameter{Name: "Idempotency-Key", In: "header",
			Schema: &jsonschema.Schema{Type: "string", MinLength: new(1), MaxLength: new(255)},
			Description: "Any text of printable ASCII that is unique to what is sent: a repeated request with the " +
				"same key is accepted once."})
		ok.Description = "What was sent is stored."
		failed = append(failed[:len(failed):len(failed)], submitFailures...)
	case c.IsPost():
		ok.Description = "The request is stored."
		failed = append(failed[:len(failed):len(failed)], unvisitedFailure)
	}
	if _, isSubmission := c.Body.(site.Submission); isSubmission {
		ok.Headers = schema.Object[*apiHeader]{{Name: "Location",
			Value: &apiHeader{Description: "URL of the status of the submission.",
				Schema: &jsonschema.Schema{Type: "string"}}}}
	}
	content, err := a.response(op, c.Response)
	if err != nil {
		return err
	}
	if op.example, err = encode.Row(a.exampleResponse(c)); err != nil {
		return err
	}
	ok.Content = schema.Object[mediaType]{{Name: jsonType, Value: mediaType{content, op.example}}}
	op.Responses = schema.Object[*apiResponse]{{Name: strconv.Itoa(c.Status), Value: ok}}
	for _, f := range failed {
		status := strconv.Itoa(f.code)
		if f.name == otherError {
			status = "default"
		}
		op.Responses = append(op.Responses, schema.Member[*apiResponse]{Name: status,
			Value: &apiResponse{Ref: "#/components/responses/" + f.name}})
	}
	item := &pathItem{}
	if c.IsPost() {
		item.Post = op
	} else {
		item.Get = op
	}
	a.doc.Paths = append(a.doc.Paths, schema.Member[*pathItem]{Name: strings.TrimPrefix(c.Pattern, apiPrefix),
		Value: item})
	return nil
}

// callCommand returns a request as a command for a shell, or "" for one that needs values that only its caller knows.
func (a *Document) callCommand(c *routes.Call) string {
	if path, ok := a.examples.path(c.Pattern); ok && c.IsPost() && c.Body == nil {
		return "curl -X POST '" + display.EndpointURL(a.directory.BaseURL, path) + "'"
	}
	example, err := exampleBody(c)
	if c.Body == nil || err != nil {
		return ""
	}
	return "curl '" + display.EndpointURL(a.directory.BaseURL, c.Pattern) +
		"' -H 'Content-Type: application/json' -d '" + string(example) + "'"
}
