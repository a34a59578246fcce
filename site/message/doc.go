// Package message reads what strangers send, strictly: the fields of a submission and of a suggestion, as a JSON object
// or as a form, each at most once, and none that is unknown. It returns the faults of all fields together.
//
// It must never know a database or a request.
package message
