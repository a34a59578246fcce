package report

import (
	"fmt"
	"io"
)

// Ownership is the result of a search for the token of a service's owner.
type Ownership struct {
	Slug     string `json:"slug"`
	Address  string `json:"address"` // URL of the token
	Token    string `json:"token"`
	Verified bool   `json:"verified"`
	Fault    string `json:"fault,omitempty"`
}

// Print writes the result.
func (o Ownership) Print(w io.Writer, asJSON bool) (err error) {
	switch {
	case asJSON:
		err = JSON(w, o)
	case o.Verified:
		_, err = fmt.Fprintf(w, "%s is verified\n", o.Slug)
	default:
		_, err = fmt.Fprintf(w, "%s is not verified\n", o.Slug)
	}
	return err
}
