package mcp

import (
	"context"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxUnanswered is the maximum number of simultaneous requests of one client on a pipe. The next request is read when a
// response has been written, so a client that never reads responses does not use more memory.
const maxUnanswered = 64

// Pipe returns a transport for one client, with one message per line.
func Pipe(in io.ReadCloser, out io.WriteCloser) sdk.Transport {
	return pipe{&sdk.IOTransport{Reader: in, Writer: out, MaxLineLength: MaxMessage}}
}

type pipe struct{ *sdk.IOTransport }

// Connect implements sdk.Transport.
func (p pipe) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := p.IOTransport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return newPipeConn(c), nil
}

type pipeConn struct {
	sdk.Connection
	unanswered chan struct{} // one element for each request in progress

	once   sync.Once
	closed chan struct{}
}

func newPipeConn(c sdk.Connection) *pipeConn {
	return &pipeConn{Connection: c, unanswered: make(chan struct{}, maxUnanswered), closed: make(chan struct{})}
}

// Read implements sdk.Connection.
func (c *pipeConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	if request, ok := message.(*jsonrpc.Request); err != nil || !ok || !request.IsCall() {
		return message, err
	}
	select {
	case c.unanswered <- struct{}{}:
		return message, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.closed:
		return nil, io.EOF
	}
}

// Write implements sdk.Connection.
func (c *pipeConn) Write(ctx context.Context, message jsonrpc.Message) error {
	err := c.Connection.Write(ctx, message)
	if _, ok := message.(*jsonrpc.Response); ok {
		select {
		case <-c.unanswered:
		default: // a response without a request that was read here
		}
	}
	return err
}

// Close implements sdk.Connection.
func (c *pipeConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}
