# The functions of jq that are written in jq. Names with an underscore are internal.

def map_values(f): .[] |= f;
def recurse_down: recurse;
def toarray: if type == "array" then . else [.] end;
def debug(f): (f | debug | empty), .;
def in(xs): . as $x | xs | has($x);
def with_entries(f): to_entries | map(f) | from_entries;
def add(f): [f] | add;
def first: .[0];
def last: .[-1];
def nth($n): .[$n];
def nth($n; f): if $n < 0 then error("Out of bounds negative array index") else first(skip($n; f)) end;
def isempty(f): label $out | (f | false, break $out), true;
def any: any(.[]; .);
def any(f): any(.[]; f);
def all: all(.[]; .);
def all(f): all(.[]; f);
def paths(f): path(.. | select(f)) | select(length > 0);
def leaf_paths: paths(scalars);
def pick(f): . as $all | reduce path(f) as $p (null; setpath($p; $all | getpath($p)));
def walk(f): def w: if type == "object" then map_values(w) elif type == "array" then map(w) else . end | f; w;
def combinations: if length == 0 then []
  else .[0][] as $x | (.[1:] | combinations) as $rest | [$x] + $rest end;
def combinations(n): . as $all | [range(n)] | map($all) | combinations;
def tostream: path(def r: (.[]? | r), .; r) as $p | getpath($p) | reduce path(.[]?) as $q ([$p, .]; [$p + $q]);
def fromstream(f): {done: false, made: null} as $start
  | foreach f as $e ($start;
      if .done then $start else . end
      | if ($e | length) == 2 then .done = (($e[0] | length) == 0) | .made = (.made | setpath($e[0]; $e[1]))
        else .done = (($e[0] | length) == 1) end;
      if .done then .made else empty end);
def truncate_stream(f): . as $n | null | f | . as $e
  | if ($e[0] | length) > $n then [$e[0][$n:]] + $e[1:] else empty end;
def match($re): if ($re | type) == "array" then match($re[0]; $re[1]) else match($re; null) end;
def match($re; $flags): _match($re; $flags; false)[];
def test($re): if ($re | type) == "array" then test($re[0]; $re[1]) else _match($re; null; true) end;
def test($re; $flags): _match($re; $flags; true);
def capture($re): if ($re | type) == "array" then capture($re[0]; $re[1]) else capture($re; null) end;
def _captures: [.captures[] | select(.name != null) | {key: .name, value: .string}] | from_entries;
def capture($re; $flags): match($re; $flags) | _captures;
def scan($re): scan($re; null);
def scan($re; $flags): match($re; "g" + $flags)
  | if (.captures | length) > 0 then [.captures[].string] else .string end;
def splits($re): splits($re; null);
def splits($re; $flags): split($re; $flags)[];
def split($re; $flags): . as $s
  | [foreach (_match($re; "g" + $flags; false)[], null) as $m ({from: 0, part: null};
      .part = (if $m == null then $s[.from:] else $s[.from:$m.offset] end)
      | if $m == null then . else .from = $m.offset + $m.length end;
      .part)];
def sub($re; f): sub($re; f; "");
def sub($re; f; $flags): . as $s | [_match($re; $flags; false)[]] as $all
  | def go($i; $from): if $i == ($all | length) then $s[$from:] else $all[$i] as $m
      | ($m | _captures | f) as $new
      | if ($new | type) != "string" then error("\($new | type) (\($new | tojson)) cannot be added to a string") else . end
      | $s[$from:$m.offset] + $new + go($i + 1; $m.offset + $m.length) end;
  if ($all | length) > 200 then _sub($all; f) else go(0; 0) end;
def _sub($all; f): . as $s | reduce $all[] as $m ({out: [], from: 0};
    .from as $from | .out += [$s[$from:$m.offset], ($m | _captures | f)]
    | .from = $m.offset + $m.length) | (.out | join("")) + $s[.from:];
def gsub($re; f): sub($re; f; "g");
def gsub($re; f; $flags): sub($re; f; $flags + "g");
def ascii: [.] | implode;
def index($x): indices($x) | .[0];
def rindex($x): indices($x) | .[-1:][0];
def todate: strftime("%Y-%m-%dT%H:%M:%SZ");
def fromdate: strptime("%Y-%m-%dT%H:%M:%SZ") | mktime;
def todateiso8601: todate;
def fromdateiso8601: fromdate;
def dateadd($u; $n): . + $n;
def datesub($u; $n): . - $n;
def date: todate;
def finites: select(isinfinite or isnan | not);
def normals: select(isnormal);
def isvalid(f): try (f | true) catch false;
def INDEX(stream; key): reduce stream as $row ({}; .[$row | key | tostring] |= $row);
def INDEX(key): INDEX(.[]; key);
def IN(s): any(s == .; .);
def IN(src; s): any(src == s; .);
def have_literal_numbers: true;
def have_decnum: false;
def get_search_list: [];
