package schema

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEverythingIsDescribed names every published type and field without a description, and every field whose
// description is not clear because others of its name have different ones.
func TestEverythingIsDescribed(t *testing.T) {
	t.Parallel()
	for _, f := range publishedFields() {
		if !isContract(f.owner) {
			t.Errorf("type %s is published: add its package to sources", f.owner)
		}
		if _, err := describeType(f.owner); err != nil && !embedded[f.owner.Name()] {
			t.Error(err)
		}
		if _, _, err := describe(f); err != nil {
			t.Error(err)
		}
	}
}

// embedded are the types that are only part of others and never a schema.
var embedded = map[string]bool{"Recorded": true}

// TestTagsAreValid checks that each field with a tag for its schema has one that the schema can use.
func TestTagsAreValid(t *testing.T) {
	t.Parallel()
	comments, err := readComments()
	if err != nil {
		t.Fatal(err)
	}
	c := NewComponents()
	for _, f := range publishedFields() {
		s, err := c.ofField(f)
		if err != nil {
			t.Error(err)
			continue
		}
		if comments[f.String()] == "" {
			continue
		}
		got := map[string]bool{"format": s.Format != "", "enum": s.Enum != nil, "max": s.Maximum != nil, "anyOf": s.AnyOf != nil}
		for tag, used := range got {
			if f.Tag.Get(tag) != "" && !used {
				t.Errorf("field %s: the tag %s has no effect on a %s", f, tag, f.Type)
			}
		}
	}
}

// TestDescribe checks where the description of a field is found.
func TestDescribe(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"site.ServiceListItem.Slug":     "Name of the service in URLs: a-z, 0-9 and hyphens.", // its own comment
		"site.ServiceDetail.Slug":       "Name of the service in URLs: a-z, 0-9 and hyphens.", // As [ServiceListItem.Slug].
		"site.ServiceDetail.BaseURL":    "Base URL of the service.",                           // the only one of its name
		"routes.SetAside.Slug":          "Name of the service in URLs: a-z, 0-9 and hyphens.", // of another package
		"site.ServiceDetail.DelistedAt": "When the operator of this directory retired the service; absent if it is listed.",
	}
	got := map[string]string{}
	for _, f := range publishedFields() {
		if want[f.String()] != "" {
			got[f.String()], _, _ = describe(f)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
