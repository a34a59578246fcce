package site

// PublishedSnapshot is a previous snapshot that is still available.
type PublishedSnapshot struct {
	ID      string `json:"id"`
	BuiltAt Time   `json:"built_at"` // when the facts were read; only to the second if only the id is still known
	Size    int64  `json:"size"`     // size of its zip in bytes
	Digest  string `json:"digest"`   // SHA-256 of its SHA256SUMS, in hexadecimal
}
