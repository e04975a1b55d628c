package seccomp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestProfile checks the form: what an engine would trip over, and what would
// mean something else than it looks like.
func TestProfile(t *testing.T) {
	var d document
	dec := json.NewDecoder(strings.NewReader(Profile()))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		t.Fatal(err)
	}
	if d.Default != refuse {
		t.Errorf("what is not in the list is %s", d.Default)
	}
	free := map[string]bool{}
	for _, r := range d.Rules {
		if len(r.Names) == 0 || len(r.If) > 0 && len(r.Names) > 1 {
			t.Errorf("%v: conditions are about one call", r.Names)
		}
		for _, name := range r.Names {
			if free[name] {
				t.Errorf("%s is there twice: one rule makes the other void", name)
			}
			free[name] = len(r.If) == 0
		}
	}
}

// TestConditions checks that no condition compares one argument twice, which an
// engine would read as two rules of which one is enough, and that none says
// what an argument must not be.
func TestConditions(t *testing.T) {
	for _, r := range profile().Rules {
		var seen []uint
		for _, c := range r.If {
			if slices.Contains(seen, c.Index) {
				t.Errorf("%v: argument %d twice", r.Names, c.Index)
			}
			seen = append(seen, c.Index)
			if c.Op != "SCMP_CMP_EQ" && c.Op != "SCMP_CMP_MASKED_EQ" {
				t.Errorf("%v: %s can be got round by bits that the kernel cuts off", r.Names, c.Op)
			}
		}
	}
}

// never are calls that must not come into the list unnoticed.
const never = `io_setup io_submit io_uring_setup io_uring_enter io_uring_register keyctl add_key request_key bpf perf_event_open userfaultfd
	fanotify_init fanotify_mark kexec_load kexec_file_load init_module finit_module delete_module create_module
	mount umount umount2 pivot_root chroot fsopen fsconfig fsmount fspick open_tree move_mount mount_setattr unshare setns
	open_by_handle_at name_to_handle_at process_vm_readv process_vm_writev pidfd_getfd kcmp process_madvise
	mbind set_mempolicy move_pages migrate_pages settimeofday clock_settime adjtimex clock_adjtime sethostname setdomainname
	reboot swapon swapoff acct quotactl quotactl_fd syslog vhangup iopl ioperm modify_ldt uselib socketcall ipc`

func TestNever(t *testing.T) {
	for _, r := range profile().Rules {
		for _, name := range r.Names {
			if r.Action == allow && slices.Contains(strings.Fields(never), name) {
				t.Errorf("%s is allowed", name)
			}
		}
	}
}
