package encode

import "embed"

// GoFiles contains the file with the type Framing; see site.GoFiles.
//
//go:embed frame.go
var GoFiles embed.FS
