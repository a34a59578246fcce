package rows

// Intern is an intern table: it returns one copy of each string, because many rows contain the same few. Nothing may
// change what its pointers point to.
type Intern map[string]*string

// String returns the copy of s.
func (t Intern) String(s string) string {
	p, ok := t[s]
	if !ok {
		p = new(s)
		t[s] = p
	}
	return *p
}

// Pointer returns a pointer to the copy of *s, nil for nil.
func (t Intern) Pointer(s *string) *string {
	if s == nil {
		return nil
	}
	if p, ok := t[*s]; ok {
		return p
	}
	t[*s] = s
	return s
}
