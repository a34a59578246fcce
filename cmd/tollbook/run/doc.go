// Package run contains what commands open and run: the database of a data folder, listeners and metrics, one build or one
// publication, the worker's scheduled steps, and the operator's command on new submissions.
//
// It must never know a flag, or decide what a fact means.
package run
