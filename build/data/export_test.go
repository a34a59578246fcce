package data

// For tests outside the package, because package datatest imports it.
const BatchRows = batchRows

var GroupRows = groupRows
