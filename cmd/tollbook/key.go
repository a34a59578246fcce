package main

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/output/archive"
	"tollbook/site/webbotauth"
)

// keyOptions say which key signs checkpoints.
type keyOptions struct {
	KeyFile string
}

// AddFlags adds --publish-key.
func (o *keyOptions) AddFlags(f *pflag.FlagSet) { settings.AddFlag(f, "publish.key", &o.KeyFile) }

// changeKeyOption says that a checkpoint may lose its signature, or get that of another key.
type changeKeyOption struct {
	ChangeKey bool
}

// AddFlags adds --change-key.
func (o *changeKeyOption) AddFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.ChangeKey, "change-key", false,
		"replace a checkpoint that is signed with another key, or with --publish-key unset remove its signature")
}

// signingKey reads the key from the file, or else from TOLLBOOK_SIGNING_KEY. It returns nil without either.
func (o *keyOptions) signingKey() (ed25519.PrivateKey, error) {
	text := []byte(os.Getenv("TOLLBOOK_SIGNING_KEY"))
	if o.KeyFile != "" {
		var err error
		if text, err = os.ReadFile(o.KeyFile); err != nil {
			return nil, fmt.Errorf("read signing key: %w", err)
		}
	}
	if len(text) == 0 && o.KeyFile != "" {
		return nil, fmt.Errorf("read signing key: %s is empty; create one with tollbook key new", o.KeyFile)
	}
	if len(text) == 0 {
		return nil, nil
	}
	return archive.ParseKey(text)
}

// crawlerKeyOptions say which key signs requests to services.
type crawlerKeyOptions struct {
	CrawlKey string
}

// AddFlags adds --crawl-key.
func (o *crawlerKeyOptions) AddFlags(f *pflag.FlagSet) { settings.AddFlag(f, "crawl.key", &o.CrawlKey) }

// signer returns what signs requests, nil without a key. The site at baseURL publishes the key, which must not be the
// one that signs checkpoints.
func (o *crawlerKeyOptions) signer(baseURL string, signing ed25519.PrivateKey) (*webbotauth.Signer, error) {
	if o.CrawlKey == "" {
		return nil, nil
	}
	text, err := os.ReadFile(o.CrawlKey)
	if err != nil {
		return nil, fmt.Errorf("read the crawler's key: %w", err)
	}
	key, err := archive.ParseKey(text)
	if err != nil {
		return nil, fmt.Errorf("read the crawler's key %s: %w", o.CrawlKey, err)
	}
	if key.Equal(signing) {
		return nil, terminal.UsageErrorf("--crawl-key %s: it is the key that signs checkpoints; create another one "+
			"with tollbook key new, so that one can be replaced without the other", o.CrawlKey)
	}
	s, err := webbotauth.NewSigner(key, baseURL)
	if err != nil {
		return nil, terminal.UsageErrorf("--crawl-key %s: %w", o.CrawlKey, err)
	}
	return s, nil
}

func newKeyCommand() *cobra.Command {
	return newGroup(&cobra.Command{
		Use:   "key",
		Short: "Create and show the keys that sign snapshots and requests",
		Long: `Key creates and shows Ed25519 keys. With one, --publish-key, build and publish sign checkpoint.json: its
public half lets anybody check that a copy of a snapshot is complete and comes from you. With another one,
--crawl-key, the crawler signs its requests (Web Bot Auth): services can recognise it, and let it in.` + groupStatus,
	}, newKeyNewCommand(), newKeyPublicCommand(), newKeyDirectoryCommand())
}

func newKeyDirectoryCommand() *cobra.Command {
	var o crawlerKeyOptions
	var baseURL string
	cmd := &cobra.Command{
		Use:   "directory",
		Short: "Print the key directory of the crawler",
		Long: `Directory prints the public half of the key in --crawl-key as the site publishes it at
/.well-known/http-message-signatures-directory: a JSON Web Key Set whose kid is the keyid of each signature.
Programmes for verified bots ask for this URL, or for the key.

EXIT STATUS

0 if it is printed, 1 if there is no key.`,
		Example: "  tollbook key directory --crawl-key crawler.pem --site-base-url https://tollbook.example",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := o.signer(baseURL, nil)
			if err != nil {
				return err
			}
			if s == nil {
				return errors.New("no key: set --crawl-key; tollbook key new creates one")
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", s.Directory())
			return err
		},
	}
	o.AddFlags(cmd.Flags())
	settings.AddFlag(cmd.Flags(), "site.base_url", &baseURL)
	return cmd
}

func newKeyNewCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "new FILE",
		Short: "Create a key in a new file",
		Long: `New writes a new private key, in the PEM format that openssl reads, to a file that only its owner may
read, and prints the public key. It never overwrites a file. Use different keys for snapshots (--publish-key) and for
the crawler (--crawl-key).

EXIT STATUS

0 if the key is written, 1 if not.`,
		Example: "  tollbook key new signing.pem > tollbook-key.pem",
		Args:    arguments("FILE"),
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
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("write key: %s exists already and is not overwritten; name a new file", args[0])
			}
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
		Long: `Public prints the public half of the key in --publish-key or TOLLBOOK_SIGNING_KEY. Every directory that
is signed publishes it at /.well-known/tollbook-key.pem.

EXIT STATUS

0 if it is printed, 1 if there is no key.`,
		Example: "  tollbook key public --publish-key signing.pem",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			key, err := o.signingKey()
			if err != nil {
				return err
			}
			if key == nil {
				return errors.New("no key: set --publish-key or TOLLBOOK_SIGNING_KEY; tollbook key new creates one")
			}
			_, err = cmd.OutOrStdout().Write(archive.PublicKey(key))
			return err
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}
