package site

// PublishedSnapshot is a snapshot that can still be read, by its id, beside the one that lists it.
type PublishedSnapshot struct {
	ID      string `json:"id"`
	BuiltAt Time   `json:"built_at"` // when the facts were read; the second alone where the id is all that is left
	Size    int64  `json:"size"`     // bytes of its zip
	Digest  string `json:"digest"`   // sha256 of its SHA256SUMS, in hex
}
