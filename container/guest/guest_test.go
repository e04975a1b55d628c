package guest

import (
	"slices"
	"testing"
)

func TestArgs(t *testing.T) {
	want := Options{Socket: "/a b/s", UID: 5, GID: 6, Dir: "/d", Home: "/h", Spool: "/t", Running: 1, Links: 2, Keep: 3,
		Log: 4, Grace: 5,
		Within: "/w", Make: []string{"/w/a", "/w/b"}, Disk: 6, Owner: 7, OwnerGroup: 8, Bridge: "127.0.0.1:1=/e"}
	got, err := Parse(want.Args())
	if err != nil || !equalOptions(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if args := (Options{Socket: "/s"}).Args(); !slices.Equal(args, []string{"-socket=/s"}) {
		t.Error(args)
	}
}

func equalOptions(a, b Options) bool {
	return slices.Equal(a.Args(), b.Args())
}
