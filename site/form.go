package site

// Form is the content of the form of a call on a page: empty at first, then the values sent and the result.
type Form struct {
	Values     map[string]string // by name of field
	Faults     []ErrorField      // errors of fields and of the whole form
	Problem    string            // error of the whole form; "" for none
	Result     any               // *SubmissionResult, *SuggestionResult or *RecheckResult; nil before
	Categories []string          // that a submission may have
}
