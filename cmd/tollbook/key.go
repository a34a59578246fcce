package main

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tollbook/output/archive"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// keyOptions say with which key checkpoints are signed.
type keyOptions struct {
	SigningKey string
}

// AddFlags adds --signing-key.
func (o *keyOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.SigningKey, "signing-key", "", "`file` of the key that signs checkpoints (or the key itself in TOLLBOOK_SIGNING_KEY); see tollbook key")
}

// signingKey reads the key, nil without one.
func (o *keyOptions) signingKey() (ed25519.PrivateKey, error) {
	text := []byte(os.Getenv("TOLLBOOK_SIGNING_KEY"))
	if o.SigningKey != "" {
		var err error
		if text, err = os.ReadFile(o.SigningKey); err != nil {
			return nil, fmt.Errorf("read signing key: %w", err)
		}
	}
	if len(text) == 0 {
		return nil, nil
	}
	return archive.ParseKey(text)
}

func newKeyCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "key",
		Short: "Make the key that signs what is published",
		Long: `Key makes and shows the Ed25519 key with which build and publish sign checkpoint.json: whoever has its public half can tell
that a copy of any snapshot is ours and whole.

EXIT STATUS

That of the command that is given: 0 done, 1 failed, 2 for a command line that cannot be understood.`,
	}, newKeyNewCommand(), newKeyPublicCommand())
}

func newKeyNewCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "new FILE",
		Short: "Make a key in a file of its own",
		Long: `New writes a fresh private key, PEM that openssl reads, too, to a file that only its owner may read, and prints the public key.
A file that is there is not touched.

EXIT STATUS

0 when the key is written, 1 when not.`,
		Args: arguments("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := archive.NewKey()
			if err != nil {
				return err
			}
			key, err := archive.ParseKey(text)
			if err != nil {
				return err
			}
			f, err := os.OpenFile(filepath.Clean(args[0]), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return fmt.Errorf("write key: %w", err)
			}
			_, err = f.Write(text)
			if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
				return fmt.Errorf("write key %s: %w", args[0], err)
			}
			_, err = cmd.OutOrStdout().Write(archive.PublicKey(key))
			return err
		},
	}
}

func newKeyPublicCommand() *cobra.Command {
	var o keyOptions
	cmd := &cobra.Command{
		Use:   "public",
		Short: "Print the public half of the key",
		Long: `Public prints the public key of --signing-key or TOLLBOOK_SIGNING_KEY, as it is published at /.well-known/tollbook-key.pem.

EXIT STATUS

0 when it is printed, 1 when there is no key.`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			key, err := o.signingKey()
			if err != nil {
				return err
			}
			if key == nil {
				return errors.New("no key: give --signing-key or TOLLBOOK_SIGNING_KEY; tollbook key new makes one")
			}
			_, err = cmd.OutOrStdout().Write(archive.PublicKey(key))
			return err
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}
