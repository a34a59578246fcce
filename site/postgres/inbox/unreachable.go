package inbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"tollbook/site"
)

// markUnreachable wraps err in site.ErrNoDatabase if it says that the database does not answer, rather than that it
// refuses a statement.
func markUnreachable(err error) error {
	if err == nil || !isUnreachable(err) {
		return err
	}
	return fmt.Errorf("%w: %w", site.ErrNoDatabase, err)
}

func isUnreachable(err error) bool {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		switch {
		case refused.Code == "57P01", refused.Code == "57P02", refused.Code == "57P03": // it stops, crashed or starts
			return true
		}
		// Class 08 is a broken connection. Class 53 is a full disk, too little memory, or too many connections.
		return strings.HasPrefix(refused.Code, "08") || strings.HasPrefix(refused.Code, "53")
	}
	var connecting *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connecting) || errors.As(err, &network) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
}
