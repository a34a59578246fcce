//go:build unix

package private

import (
	"context"
	"fmt"
)

const packageMajor = 18

func fetchPrograms(ctx context.Context, o Options) (programs, error) {
	return programs{}, fmt.Errorf("%w: run %s", ErrNoPrograms, installCommand())
}
