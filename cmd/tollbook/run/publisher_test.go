package run

import (
	"fmt"
	"strings"
	"testing"

	"tollbook/output/archive"
	"tollbook/site/routes"
)

// indexOnly is a snapshot that has nothing but its index.
type indexOnly struct {
	archive.Files
	index string
}

// ReadFile implements archive.Files.
func (i indexOnly) ReadFile(name string) ([]byte, error) {
	if name != routes.IndexFile {
		return nil, fmt.Errorf("read %s", name)
	}
	return []byte(i.index), nil
}

// TestCheckAddress checks that a snapshot whose addresses lead to this machine is refused on another one, and there
// alone.
func TestCheckAddress(t *testing.T) { // not parallel: the endpoint is the process's
	at := func(url string) archive.Files { return indexOnly{index: `{"provenance": {"cite_as": "` + url + `"}}`} }
	for _, test := range []struct {
		to, endpoint string
		snapshot     archive.Files
		want         string
	}{
		{"s3://bucket/x", "", at("http://127.0.0.1:4020/"), "set base_url in the section [site]"},
		{"s3://bucket/x", "https://s3.example.com", at("http://localhost:4020/"), "name http://localhost:4020/"},
		{"s3://bucket/x", "https://s3.example.com", at("http://[::1]/"), "--force"},
		{"s3://bucket/x", "https://s3.example.com", at("https://directory.example/"), ""},
		{"s3://bucket/x", "http://127.0.0.1:9000", at("http://127.0.0.1:4020/"), ""}, // a server of this machine
		{"/srv/www", "", at("http://127.0.0.1:4020/"), ""},
		{"s3://bucket/x", "", indexOnly{index: `{}`}, ""}, // of a version that said nothing
		{"s3://bucket/x", "", indexOnly{index: `[`}, "read " + routes.IndexFile},
	} {
		t.Setenv("AWS_ENDPOINT_URL", test.endpoint)
		t.Setenv("AWS_ENDPOINT_URL_S3", "")
		err := checkAddress(test.to, test.snapshot)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s at %q, %s: %v, want %q", test.to, test.endpoint, test.snapshot, err, test.want)
		}
	}
}
