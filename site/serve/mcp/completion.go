package mcp

import (
	"context"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tollbook/site"
	"tollbook/site/routes"
)

// maxCompletions is the maximum number of values that the protocol allows in a completion.
const maxCompletions = 100

// complete completes the slug in the URI of a resource, and the network of a prompt.
func (r reader) complete(ctx context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	var names []string
	switch argument := req.Params.Argument.Name; {
	case req.Params.Ref.Type == "ref/resource" && argument == "slug":
		names = r.slugs(ctx)
	case req.Params.Ref.Type == "ref/prompt" && argument == argumentNetwork:
		list, err := readData[[]site.Network](ctx, r, routes.ByName("networks").Pattern)
		if err != nil {
			return nil, err
		}
		for _, n := range list {
			names = append(names, n.Name)
		}
	}
	values := matching(names, req.Params.Argument.Value)
	shown := values[:min(len(values), maxCompletions)]
	return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: shown, Total: len(values),
		HasMore: len(shown) < len(values)}}, nil
}

// matching returns the names that begin with a value, then those that contain it, whatever its case.
func matching(names []string, value string) []string {
	value = strings.ToLower(value)
	begin, contain := []string{}, []string{}
	for _, name := range names {
		switch i := strings.Index(strings.ToLower(name), value); {
		case i == 0:
			begin = append(begin, name)
		case i > 0:
			contain = append(contain, name)
		}
	}
	return append(begin, contain...)
}
