package quota_test

import (
	"fmt"

	"hako/quota"
	"hako/run/fault"
)

// A part of a task gets a part of its budget, and what it uses counts for both.
func Example() {
	task := quota.New(quota.Limits{Scripts: 3, Calls: 10, Tokens: quota.NoLimit, Read: quota.NoLimit,
		Written: quota.NoLimit, Wall: quota.NoLimit})
	part := task.Child(quota.Limits{Scripts: 2})
	for range 3 {
		if err := part.Charge(quota.Usage{Scripts: 1}); err != nil {
			fmt.Println(fault.KindOf(err) == fault.Exhausted)
		}
	}
	fmt.Println(task.Used().Scripts, "used;", task.Left())
	// Output:
	// true
	// 3 used; 10 of 10 calls left, 0 of 3 scripts left
}
