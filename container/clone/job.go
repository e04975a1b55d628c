package clone

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"hako/container/guest"
	"hako/run/fault"
)

// A cloneJob is one operation in progress.
type cloneJob struct {
	*Store
	src      Source
	op       string   // for messages
	url      *url.URL // of the repository; .git may be added
	subject  string   // the address for messages
	key      *key     // nil means that no credential is sent
	tls      []setting
	git      *git
	progress func(string)
}

func (s *Store) newJob(op string, src Source, progress func(string)) (*cloneJob, error) {
	u, err := parseURL(src.URL)
	if err != nil {
		return nil, err
	}
	j := &cloneJob{Store: s, src: src, op: op, url: u, subject: u.String(), key: s.Keys.find(u), progress: progress}
	home, err := s.home()
	if err != nil {
		return nil, err
	}
	if j.tls, err = s.tlsSettings(); err != nil {
		return nil, err
	}
	j.git, err = s.git(home, progress)
	return j, err
}

// home creates the home directory of git. Others must not be able to write to it or to the cache: git would obey
// settings, repositories and certificates that they put there.
func (s *Store) home() (string, error) {
	dir, err := filepath.Abs(s.Dir) // git runs in another directory
	home := filepath.Join(dir, "home")
	if err == nil {
		err = os.MkdirAll(home, 0o700)
	}
	if err != nil {
		return "", cacheFault(s.Dir, "it cannot be made", err)
	}
	about, err := os.Stat(dir) // the user may have made a link on purpose
	if err == nil {
		err = notShared(dir, about)
	}
	if err != nil {
		return "", err
	}
	if about, err = os.Lstat(home); err == nil {
		err = notShared(home, about)
	}
	return home, err
}

// notShared refuses a directory that others may write to.
func notShared(dir string, about os.FileInfo) error {
	e := &fault.Error{Kind: fault.Unavailable, Op: "use clone cache", Subject: dir}
	switch {
	case !about.IsDir():
		e.Why, e.Hint = "it is not a directory of its own", "remove it: it is made again"
	case !ours(about):
		e.Why, e.Hint = "it belongs to somebody else", "remove it, or give it to the user who runs hako"
	case openToOthers(about):
		e.Why, e.Hint = "others may write to it", "chmod go-w "+dir
	default:
		return nil
	}
	return e
}

func cacheFault(dir, why string, err error) error {
	return &fault.Error{Kind: fault.Unavailable, Op: "use clone cache", Subject: dir, Why: why, Err: err,
		Hint: "check that the directory is writable and has room"}
}

// errStale means that the cache is unusable.
var errStale = errors.New("the cache is damaged or full")

// retryStale repeats do with a new cache if the old one was damaged and removed.
func (j *cloneJob) retryStale(do func() error) error {
	err := do()
	if errors.Is(err, errStale) {
		j.progress("the cache of this repository is damaged, fetching it again")
		err = do()
	}
	if errors.Is(err, errStale) {
		err = cacheFault(j.Dir, "files that are written there change", err)
	}
	return err
}

// transferTo fetches what is missing and sends it into the container.
func (j *cloneJob) transferTo(ctx context.Context, at remoteRefs, g guest.Executor, dir string) (Checkout, error) {
	c, err := j.open(ctx, at)
	if err != nil {
		return Checkout{}, err
	}
	defer c.close()
	load, err := c.load(ctx, at)
	if err != nil {
		return Checkout{}, c.discardIfDamaged(err)
	}
	defer load.close()
	c.unlock() // its files are open, so they stay even if others remove them
	if err := j.deliver(ctx, load, g, dir); err != nil {
		return Checkout{}, c.checkCached(ctx, load, err)
	}
	if parent := j.undo(load); parent != "" {
		load.Commit, load.Key = parent, ""
	}
	return Checkout{Commit: load.Commit, Key: load.Key, Branch: load.branch, Default: at.standard, URL: j.url.String(),
		Cached: load.cached,
		Bytes:  load.Bytes, Warnings: j.warnings(load)}, nil
}

func (j *cloneJob) warnings(l *transfer) []string {
	var all []string
	if j.InsecureTLS && j.url.Scheme == "https" {
		all = append(all, "insecure_tls is set: the identity of "+j.url.Host+" was not verified")
	}
	if j.url.Scheme == "http" && j.key != nil {
		all = append(all, j.key.token+" was sent to "+j.url.Host+" without encryption")
	}
	return append(all, l.Warnings...)
}

// depth returns the number of commits to fetch of a branch; zero means all.
func (j *cloneJob) depth() int {
	const comparable, undoable = 50, 2
	switch {
	case j.src.Full:
		return 0
	case j.src.Depth > 1 || j.src.Depth == 1 && j.src.Commit == "":
		return j.src.Depth
	case j.src.Target != "" && j.src.Depth == 0:
		return comparable
	case j.src.Commit != "":
		return undoable
	}
	return 1
}

// cacheName returns the name of the repository's cache. Each credential has its own cache, and so has each depth,
// because a repository has only one shallow boundary.
func (j *cloneJob) cacheName() string {
	seen := ""
	if j.key != nil {
		seen = j.key.owner
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{"1", j.url.String(), seen, strconv.Itoa(j.depth())}, "\x00")))
	return hex.EncodeToString(sum[:cacheNameBytes])
}

const cacheNameBytes = 16

// online returns the settings of a git that contacts the server. Only they contain the credential.
func (j *cloneJob) online(ctx context.Context) ([]setting, error) {
	if j.key == nil {
		return j.tls, nil
	}
	c, err := j.key.credential(ctx)
	if err != nil {
		return nil, err
	}
	j.git.secrets.Add(c.secrets()...)
	return append(j.tls[:len(j.tls):len(j.tls)], setting{"http." + j.url.String() + ".extraHeader",
		"Authorization: " + c.basic()}), nil
}

func (j *cloneJob) runOnline(ctx context.Context, c call) (err error) {
	if c.settings, err = j.online(ctx); err != nil {
		return err
	}
	return j.git.run(ctx, c)
}
