package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hako/audit"
	"hako/internal/app"
	"hako/internal/app/secretary/store"
	"hako/internal/config"
	"hako/internal/term"
	"hako/internal/text"
	"hako/run/fault"
)

// todoOptions are the flags of hako todo.
type todoOptions struct {
	common
	all                                bool
	title, note, due, priority, status string
}

func newTodo(s streams) *cobra.Command {
	cmd := command("todo", nil, needSubcommand)
	cmd.AddCommand(newTodoList(s), newTodoAdd(s), newTodoUpdate(s), newTodoEach(s, "complete"), newTodoEach(s, "delete"),
		newTodoGet(s))
	return cmd
}

func (o *todoOptions) register(cmd *cobra.Command) *cobra.Command {
	f := cmd.Flags()
	o.registerSettings(f)
	o.registerJSON(f, "")
	return cmd
}

// registerFields adds the flags of commands that change a to-do.
func (o *todoOptions) registerFields(cmd *cobra.Command) *cobra.Command {
	f := cmd.Flags()
	f.StringVar(&o.note, "note", "", "details, `TEXT` of up to 10000 characters")
	f.StringVar(&o.due, "due", "", "due date `WHEN`: 2026-01-31, 2026-01-31T15:04:05+09:00, today, tomorrow or none")
	f.StringVar(&o.priority, "priority", "", "priority `LEVEL`: low, normal or high (default normal)")
	return o.registerAudit(cmd)
}

func (o *todoOptions) registerAudit(cmd *cobra.Command) *cobra.Command {
	o.common.registerAudit(cmd.Flags())
	return o.register(cmd)
}

func (o *todoOptions) open() (*store.Store, *config.Config, error) {
	conf, err := o.load()
	if err != nil {
		return nil, nil, err
	}
	list, err := store.Open(config.SecretaryDatabase.Of(conf).V)
	return list, conf, err
}

// change opens the list and the record, and passes a function that records a change, to be called before it is made.
func (o *todoOptions) change(do func(list *store.Store, record func(words ...string) error) error) error {
	list, conf, err := o.open()
	if err != nil {
		return err
	}
	defer list.Close()
	b, err := app.Open(conf)
	if err != nil {
		return err
	}
	defer b.Close()
	return do(list, func(words ...string) error {
		return b.Log.Append(audit.Event{What: audit.Opened, Actor: "user", Mode: "written",
			Path: config.SecretaryDatabase.Of(conf).V, Argv: append([]string{"todo"}, words...)})
	})
}

// print prints the result of an action.
func (o *todoOptions) print(w io.Writer, action string, t store.Todo) error {
	if o.json {
		return encode(w, t)
	}
	_, err := fmt.Fprintln(w, text.ForTerminal(store.DescribeAction(action, t)))
	return err
}

func newTodoList(s streams) *cobra.Command {
	var o todoOptions
	cmd := command("todo list", nil, func(_ *cobra.Command, args []string) error {
		return o.list(s, strings.Join(args, " "))
	})
	cmd.Flags().BoolVar(&o.all, "all", false, "also list completed to-dos")
	cmd.Flags().StringVar(&o.due, "due", "",
		"only what is due by `WHEN`: 2026-01-31, 2026-01-31T15:04:05+09:00, today or tomorrow")
	return o.register(cmd)
}

func (o *todoOptions) list(s streams, query string) error {
	_, by, err := store.ParseDue(o.due, time.Now())
	if err != nil {
		return err
	}
	list, _, err := o.open()
	if err != nil {
		return err
	}
	defer list.Close()
	f := store.Filter{Query: query, DueBy: by, Status: store.StatusOpen}
	if o.all {
		f.Status = ""
	}
	todos, err := list.List(f)
	switch {
	case err != nil:
		return err
	case o.json:
		return encode(s.out, append([]store.Todo{}, todos...)) // an empty list is [], not null
	case len(todos) == 0 && query == "" && o.due == "":
		fmt.Fprintln(s.err, "hako: there is nothing to do\nhako: hint: add something: hako todo add 牛乳を買う --due tomorrow")
		return nil
	case len(todos) == 0:
		fmt.Fprintln(s.err, "hako: nothing on the list is like that\nhako: hint: hako todo list --all shows everything")
		return nil
	}
	_, err = io.WriteString(s.out, todoTable(todos, o.all, time.Now(), term.Columns(s.out)))
	return err
}

// todoTable lists to-dos for a terminal of that width; zero means that titles are not cut.
func todoTable(todos []store.Todo, status bool, now time.Time, width int) string {
	rows := [][]string{{"STATUS", "ID", "PRIORITY", "DUE", "TITLE"}}
	for _, t := range todos {
		rows = append(rows, []string{t.Status, strconv.FormatInt(t.ID, 10), t.Priority, dueText(t, now),
			text.ForTerminal(t.Title)})
	}
	if !status {
		for i := range rows {
			rows[i] = rows[i][1:]
		}
	}
	lines := columns(rows, func(int) bool { return false })
	title := strings.Index(lines[0], "TITLE")
	for i, line := range lines {
		if width > 0 {
			lines[i] = text.ShortenCells(line, max(width, title+10))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// dueText formats a time in the local zone, and a day unchanged.
func dueText(t store.Todo, now time.Time) string {
	due := t.Due
	if at, err := time.Parse(time.RFC3339, due); err == nil {
		due = at.Local().Format("2006-01-02 15:04")
	}
	if t.Overdue(now) {
		due += " overdue"
	}
	return due
}

func newTodoAdd(s streams) *cobra.Command {
	var o todoOptions
	return o.registerFields(command("todo add", nil, func(_ *cobra.Command, args []string) error {
		t := store.Todo{Title: strings.Join(args, " "), Note: o.note, Due: o.due, Priority: o.priority}
		if strings.TrimSpace(t.Title) == "" {
			return &fault.Error{Kind: fault.Invalid, Op: "todo add", Why: "there is no title", Hint: "hako todo add 牛乳を買う"}
		}
		return o.change(func(list *store.Store, record func(...string) error) error {
			if err := record("add", t.Title); err != nil {
				return err
			}
			added, err := list.Add(t)
			if err != nil {
				return err
			}
			return o.print(s.out, "add", added)
		})
	}))
}

func newTodoUpdate(s streams) *cobra.Command {
	var o todoOptions
	cmd := command("todo update", nil, func(cmd *cobra.Command, args []string) error {
		ids, err := todoIDs(cmd, args, 1)
		if err != nil {
			return err
		}
		return o.change(func(list *store.Store, record func(...string) error) error {
			if _, err := list.Get(ids[0]); err != nil {
				return err
			}
			if err := record("update", args[0]); err != nil {
				return err
			}
			t, err := list.Update(ids[0], o.changes(cmd))
			if err != nil {
				return err
			}
			return o.print(s.out, "update", t)
		})
	})
	cmd.Flags().StringVar(&o.title, "title", "", "title, `TEXT` on one line")
	cmd.Flags().StringVar(&o.status, "status", "", "status `STATUS`: open or done")
	return o.registerFields(cmd)
}

// changes has the flags that were given, also empty ones.
func (o *todoOptions) changes(cmd *cobra.Command) store.Change {
	of := func(flag string, value *string) *string {
		if cmd.Flags().Changed(flag) {
			return value
		}
		return nil
	}
	return store.Change{
		Title: of("title", &o.title), Note: of("note", &o.note), Due: of("due", &o.due),
		Priority: of("priority", &o.priority), Status: of("status", &o.status),
	}
}

// newTodoEach returns a command that does one thing to several to-dos.
func newTodoEach(s streams, action string) *cobra.Command {
	var o todoOptions
	return o.registerAudit(command("todo "+action, nil, func(cmd *cobra.Command, args []string) error {
		ids, err := todoIDs(cmd, args, 0)
		if err != nil {
			return err
		}
		return o.change(func(list *store.Store, record func(...string) error) error {
			return o.each(s.out, list, record, action, ids)
		})
	}))
}

// each applies the action to all, or to none if one does not exist.
func (o *todoOptions) each(w io.Writer, list *store.Store, record func(...string) error, action string,
	ids []int64) error {
	for _, id := range ids {
		if _, err := list.Get(id); err != nil {
			return err
		}
	}
	for _, id := range ids {
		if err := record(action, strconv.FormatInt(id, 10)); err != nil {
			return err
		}
		_, t, err := list.Do(store.TodoAction{Action: action, ID: id})
		if err == nil {
			err = o.print(w, action, t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func newTodoGet(s streams) *cobra.Command {
	var o todoOptions
	return o.register(command("todo get", nil, func(cmd *cobra.Command, args []string) error {
		ids, err := todoIDs(cmd, args, 1)
		if err != nil {
			return err
		}
		list, _, err := o.open()
		if err != nil {
			return err
		}
		defer list.Close()
		t, err := list.Get(ids[0])
		if err != nil {
			return err
		}
		if o.json {
			return encode(s.out, t)
		}
		_, err = io.WriteString(s.out, todoText(t, time.Now()))
		return err
	}))
}

// todoText formats all fields of a to-do.
func todoText(t store.Todo, now time.Time) string {
	lines := [][2]string{{"id", strconv.FormatInt(t.ID, 10)}, {"title", t.Title}, {"status", t.Status},
		{"priority", t.Priority},
		{"due", dueText(t, now)}, {"created", shortTime(t.Created)}, {"updated", shortTime(t.Updated)},
		{"completed", shortTime(t.Completed)},
		{"note", strings.ReplaceAll(t.Note, "\n", "\n"+strings.Repeat(" ", 11))}}
	var b strings.Builder
	for _, line := range lines {
		if line[1] != "" {
			fmt.Fprintf(&b, "%-10s %s\n", line[0], text.ForTerminal(line[1]))
		}
	}
	return b.String()
}

func shortTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04")
}

// todoIDs parses ids, at most that many; zero means no limit.
func todoIDs(cmd *cobra.Command, args []string, most int) ([]int64, error) {
	e := &fault.Error{Kind: fault.Invalid, Op: pathOf(cmd), Hint: "hako todo list shows the numbers"}
	if len(args) == 0 || most > 0 && len(args) > most {
		e.Why = fmt.Sprintf("there are %d numbers where one is wanted", len(args))
		return nil, e
	}
	ids := make([]int64, len(args))
	for i, arg := range args {
		id, err := strconv.ParseInt(strings.TrimPrefix(arg, "#"), 10, 64)
		if err != nil || id < 1 {
			e.Subject, e.Why = arg, "it is not the number of a to-do"
			return nil, e
		}
		ids[i] = id
	}
	return ids, nil
}
