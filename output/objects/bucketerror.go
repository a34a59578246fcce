package objects

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7"
)

// describe returns what was attempted, on which object of which bucket, at which server.
func (b *Bucket) describe(verb, name string) string {
	what := verb
	if name != "" {
		what += " " + name
	}
	return fmt.Sprintf("%s in %s at %s", what, b.where, b.core.EndpointURL().Host)
}

// cause returns why a request got no response, without the URL, which describe has in another form.
func cause(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// otherNotFound are codes of responses with status 404 that say nothing about the object. versitygw sends the last one
// for an unknown access key.
var otherNotFound = map[string]bool{"NoSuchBucket": true, "InvalidAccessKeyId": true, "XAdminUserNotFound": true}

const keyAdvice = "check AWS_ACCESS_KEY_ID, and that AWS_ENDPOINT_URL is the server of that key"

// advice says what to do about codes of a server's response.
var advice = map[string]string{
	"NoSuchBucket":                 "create the bucket, or correct its name",
	"InvalidAccessKeyId":           keyAdvice,
	"XAdminUserNotFound":           keyAdvice,
	"SignatureDoesNotMatch":        "check AWS_SECRET_ACCESS_KEY",
	"AccessDenied":                 "check AWS_ACCESS_KEY_ID and the rights of that key",
	"ExpiredToken":                 "renew AWS_SESSION_TOKEN",
	"InvalidToken":                 "renew AWS_SESSION_TOKEN",
	"RequestTimeTooSkewed":         "set the clock of this machine by NTP",
	"AuthorizationHeaderMalformed": "check AWS_REGION",
	"PermanentRedirect":            "check AWS_REGION and AWS_ENDPOINT_URL",
}

// describeResponse returns the code and message of a server's response, and what to do about it.
func describeResponse(r minio.ErrorResponse) string {
	said := printable([]byte(r.Code + ": " + r.Message))
	if do := advice[r.Code]; do != "" {
		said = strings.TrimSuffix(said, ".") + "; " + do
	}
	return said
}
