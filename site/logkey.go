package site

import (
	"strconv"
	"strings"
)

// LogKey returns the file of the LogIndex of q's log.
func (q Query) LogKey() string { return q.ListKey() + "/" + logFile }

// IsLog reports whether a file is a LogIndex.
func IsLog(key string) bool { return strings.HasSuffix(key, "/"+logFile) }

// BlockKey returns the file of one block of q's log, in the snapshot or in a pack.
func (q Query) BlockKey(block int64) string {
	return q.ListKey() + "/block=" + strconv.FormatInt(block, 10) + q.Route.Ext
}
