package site

import "strings"

const termsFolder = "v1/terms/"

// TermShardKey returns the key of the file of terms with this name.
func TermShardKey(name string) string { return termsFolder + name + ".json" }

// HasTermShardKey reports whether key is the key of one of the files of terms that x lists.
func HasTermShardKey(x *TermIndex, key string) bool {
	name, ok := strings.CutPrefix(key, termsFolder)
	if name, isJSON := strings.CutSuffix(name, ".json"); ok && isJSON {
		return x.Shards[name] > 0
	}
	return false
}
