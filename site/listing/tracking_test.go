package listing_test

import (
	"testing"

	"tollbook/site/listing"
)

func TestWithoutTracking(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://a.test": "https://a.test",
		"https://a.test/?utm_source=list&ref=awesome":       "https://a.test/",
		"https://a.test/?UTM_Campaign=x&q=%2f&fbclid=1&p=2": "https://a.test/?q=%2f&p=2",
		"https://a.test/?reference=1&q":                     "https://a.test/?reference=1&q",
		"https://a.test/?&&":                                "https://a.test/",
	} {
		if got := listing.WithoutTracking(url); got != want {
			t.Errorf("WithoutTracking(%s) = %s, want %s", url, got, want)
		}
	}
}
