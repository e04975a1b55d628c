package app

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"hako/gate"
	"hako/internal/app/access"
	"hako/internal/config"
	"hako/internal/ownerfile"
	"hako/internal/web/auth"
	"hako/run/fault"
)

// tokenVariable holds the user's own token. There is no flag for it: command lines are public on a machine.
const tokenVariable = config.TokenVariable

// localCaller is the name of the holder of this server's token.
const localCaller = "local"

// minTokenLength keeps tokens from being guessed by trying.
const minTokenLength = 20

// An MCPAccess authenticates MCP clients over HTTP: by the token of this server, or as clients and operators of
// hako serve, each with their own sandboxes.
type MCPAccess struct {
	Token string // empty means that every local process may connect
	store *auth.Store
	Note  string // about the token, printed at the start
}

// Holder returns the owner of a token, or "".
func (g *MCPAccess) Holder(secret string) string {
	if g.Token == "" {
		return localCaller
	}
	given, own := sha256.Sum256([]byte(secret)), sha256.Sum256([]byte(g.Token))
	if subtle.ConstantTimeCompare(given[:], own[:]) == 1 {
		return localCaller
	}
	who, key, ok, err := g.store.Verify(secret)
	if !ok || err != nil || who.Role != access.Operator && who.Role != access.Client {
		return ""
	}
	return key.Named(who.Name) // distinct from the local caller and from earlier holders of the name
}

// MaxAnswer returns the most that the client of a caller may answer to questions about its own commands:
// everything with the token of this server, whose owner started the client. Others decides about the rest.
func (g *MCPAccess) MaxAnswer(others func(caller string) gate.Answer) func(caller string) gate.Answer {
	return func(caller string) gate.Answer {
		if g.Token != "" && caller == localCaller {
			return gate.Session
		}
		return others(caller)
	}
}

// MCPAccessOptions choose the token for MCP clients.
type MCPAccessOptions struct {
	HTTP      bool   // the server listens; otherwise it uses standard streams
	TokenFile string // empty means the variable, or a new token
	NoToken   bool   // let every local process connect
}

// Access determines the token.
func (o MCPAccessOptions) Access(store *auth.Store) (*MCPAccess, error) {
	g := &MCPAccess{store: store}
	var err error
	switch own := os.Getenv(tokenVariable); {
	case !o.HTTP && (o.TokenFile != "" || o.NoToken):
		return nil, &fault.Error{Kind: fault.Invalid, Op: "start mcp",
			Why:  "tokens are for --http; standard streams need none",
			Hint: "add --http 127.0.0.1:7420, or leave the flag out"}
	case !o.HTTP:
		return g, nil
	case o.NoToken && o.TokenFile != "":
		return nil, &fault.Error{Kind: fault.Invalid, Op: "start mcp", Subject: "--no-token",
			Why: "--token-file says otherwise", Hint: "leave one of them out"}
	case o.NoToken:
		g.Note = "no token is required: every user and program of this machine can connect"
		return g, nil
	case o.TokenFile != "":
		g.Token, err = readToken(o.TokenFile)
		g.Note = "the token is in " + o.TokenFile
	case own != "":
		g.Token, g.Note = own, "the token is that of "+tokenVariable
	default:
		g.Token, err = new(auth.Store).Ephemeral(localCaller, access.Operator)
		g.Note = "token " + g.Token
	}
	if err == nil {
		err = checkToken(g.Token, cmp.Or(o.TokenFile, tokenVariable))
	}
	return g, err
}

// checkToken rejects tokens that cannot be sent or could be guessed.
func checkToken(token, from string) error {
	switch {
	case len(token) < minTokenLength:
		return &fault.Error{Kind: fault.Invalid, Op: "read token", Subject: from,
			Why:  fmt.Sprintf("it has fewer than %d characters and can be guessed", minTokenLength),
			Hint: "make one with: openssl rand -hex 32; where --token-file names no file yet, hako makes one"}
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return &fault.Error{Kind: fault.Invalid, Op: "read token", Subject: from,
			Why: "it has characters that no header can carry", Hint: "make one with: openssl rand -hex 32"}
	}
	return nil
}

// readToken reads a token from a file that only the owner can read, or creates the file with a new token.
func readToken(path string) (string, error) {
	f, err := ownerfile.Open(path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return newTokenFile(path)
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return "", &fault.Error{Op: "read token", Subject: path, Err: fault.Reason(err)}
	}
	return strings.TrimSpace(string(text)), nil
}

func newTokenFile(path string) (token string, err error) {
	if token, err = new(auth.Store).Ephemeral(localCaller, access.Operator); err != nil {
		return "", err
	}
	f, err := ownerfile.Open(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(token + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return "", &fault.Error{Op: "write token", Subject: path, Err: fault.Reason(err)}
	}
	return token, nil
}
