package schema

import (
	"strings"
	"testing"

	"tollbook/site/routes"
)

// TestBodySchema: the schema of every answer stands by itself.
func TestBodySchema(t *testing.T) {
	t.Parallel()
	for name, body := range routes.Responses {
		got, err := BodySchema(body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if s := string(got); strings.Contains(s, ComponentPath) ||
			!strings.Contains(s[:min(len(s), 80)], `"type":"object"`) {
			t.Errorf("%s: %.300s", name, s)
		}
	}
}
