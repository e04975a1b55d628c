package engine

import (
	"context"
	"os"
	"strconv"
	"strings"

	"hako/run/fault"
)

// Supported versions of the API, 1.x: the first with one-shot statistics, and the last that was tested.
const (
	oldestAPI = 41
	newestAPI = 51
)

// wantedAPI reads DOCKER_API_VERSION; empty means to negotiate.
func wantedAPI() (string, error) {
	text := os.Getenv("DOCKER_API_VERSION")
	if text == "" {
		return "", nil
	}
	minor, ok := minorOf(text)
	if !ok || minor < oldestAPI {
		return "", &fault.Error{Kind: fault.Invalid, Op: "read DOCKER_API_VERSION",
			Why:  "it must be 1." + strconv.Itoa(oldestAPI) + " or newer",
			Hint: "leave it empty: the engine is asked what it speaks"}
	}
	return apiVersion(minor), nil
}

func minorOf(version string) (int, bool) {
	major, minor, _ := strings.Cut(version, ".")
	n, err := strconv.ParseUint(minor, 10, 16)
	return int(n), err == nil && major == "1"
}

func apiVersion(minor int) string { return "1." + strconv.Itoa(min(minor, newestAPI)) }

// version returns the API version. It is negotiated once, or again by the next call if the engine did not answer.
func (e *Engine) version(ctx context.Context, op string) (string, error) {
	ctx, cancel := e.bound(ctx, e.timeout)
	defer cancel()
	select {
	case <-e.versionLock:
	case <-ctx.Done():
		return "", e.connFailure(ctx, op, ctx.Err())
	}
	defer func() { e.versionLock <- struct{}{} }()
	if e.api != "" {
		return e.api, nil
	}
	api, err := e.negotiate(ctx, op)
	if err == nil {
		e.api = api
	}
	return api, err
}

// negotiate asks the engine for its API version.
func (e *Engine) negotiate(ctx context.Context, op string) (string, error) {
	r := request{op: op, path: "/_ping"}
	res, err := e.send(ctx, r, "http://docker/_ping")
	if err != nil {
		return "", err
	}
	defer discard(res.Body)
	offered := res.Header.Get("Api-Version")
	minor, ok := minorOf(offered)
	switch {
	case res.StatusCode >= 500:
		return "", refuse(r, res)
	case !ok:
		return "", &fault.Error{Kind: fault.Unavailable, Op: op, Subject: e.Host(),
			Why: "what answers there is not a docker engine", Hint: "set DOCKER_HOST to where docker listens"}
	case minor < oldestAPI:
		return "", &fault.Error{Kind: fault.Unavailable, Op: op, Subject: e.Host(),
			Why: "the engine is too old: it speaks API " + clean(offered), Hint: "update docker to 20.10 or newer"}
	}
	return apiVersion(minor), nil
}
