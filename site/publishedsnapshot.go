package site

// PublishedSnapshot is a snapshot that can be downloaded as a whole.
type PublishedSnapshot struct {
	// Id of the snapshot, as in the header X-Snapshot.
	ID string `json:"id"`
	// When the facts were read.
	BuiltAt Time `json:"built_at"` // when the facts were read; only to the second if only the id is still known
	// Size of the download in bytes.
	Size int64 `json:"size"`
	// SHA-256 of its SHA256SUMS, in hexadecimal.
	Digest string `json:"digest"`
}
