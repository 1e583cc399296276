/** How much a finding matters: `error` and `warning` ask for a change, `info` for a look. */
export type Severity = 'error' | 'warning' | 'info'

/** What a finding is about; `LINT_SEVERITIES` has a table of what each means. */
export type LintCode =
  | 'repeated_id'
  | 'shadowed'
  | 'inactive'
  | 'matches_nothing'
  | 'single_star'
  | 'deny_without_apex'
  | 'deny_one_level'
  | 'deny_one_action'
  | 'deny_every_address'
  | 'literal_syntax'
  | 'too_broad'
  | 'protected_name'
  | 'confusable_host'
  | 'similar_resource'
  | 'write_without_read'
  | 'redundant'
  | 'duplicate_resource'
  | 'apex_not_covered'
  | 'protected_address'
  | 'similar_name'
  | 'undecided'

/**
 * Everything that `lint` finds, with its severity and the reason for it.
 *
 * | Code                  | Severity | Because
 * |
 * | --------------------- | -------- | ------------------------------------------------------------
 * |
 * | `repeated_id`         | error    | logs and decisions name rules by id: nobody can tell which
 * |
 * | `shadowed`            | warning  | somebody believes that it is allowed, and it is denied
 * |
 * | `matches_nothing`     | warning  | no name or path can be as long as the pattern asks for
 * |
 * | `single_star`         | warning  | a deny cuts what is not allowed: `**` was surely meant
 * |
 * | `deny_without_apex`   | warning  | the domain itself stays open through a wider allow
 * |
 * | `deny_one_level`      | warning  | deeper levels stay open through a wider allow
 * |
 * | `deny_one_action`     | warning  | UDP reaches what TCP may not, or a write what no read may
 * |
 * | `deny_every_address`  | warning  | a deny decides, so that allowed names have no address left
 * |
 * | `literal_syntax`      | warning  | braces, sets and variables stand for themselves in paths
 * |
 * | `too_broad`           | warning  | strangers can get such names, of a short list of providers,
 * or the range is nearly all |
 * | `protected_name`      | warning  | the name means this machine, which a name never opens
 * |
 * | `confusable_host`     | warning  | letters of another script make it read like another name;
 * look-alikes among Latin letters (`rn`, `1`) are not found |
 * | `similar_resource`    | warning  | paths that differ by letter case: one matches nothing meant
 * |
 * | `write_without_read`  | warning  | a writable mount needs both
 * |
 * | `inactive`            | info     | as it has to be: the user's own allow counts when nobody
 * governs |
 * | `redundant`           | info     | harmless, but its removal would be thought to close
 * something |
 * | `duplicate_resource`  | info     | the same, with the same pattern
 * |
 * | `apex_not_covered`    | info     | often meant, often overlooked
 * |
 * | `protected_address`   | info     | the range does not open what it holds, mostly for the better
 * |
 * | `similar_name`        | info     | people confuse the two; decisions do not
 * |
 * | `undecided`           | info     | a question took more work than `lint` allows itself
 * |
 */
export const LINT_SEVERITIES: Readonly<Record<LintCode, Severity>> = /* @__PURE__ */ Object.freeze({
  repeated_id: 'error',
  shadowed: 'warning',
  matches_nothing: 'warning',
  single_star: 'warning',
  deny_without_apex: 'warning',
  deny_one_level: 'warning',
  deny_one_action: 'warning',
  deny_every_address: 'warning',
  literal_syntax: 'warning',
  too_broad: 'warning',
  protected_name: 'warning',
  confusable_host: 'warning',
  similar_resource: 'warning',
  write_without_read: 'warning',
  inactive: 'info',
  redundant: 'info',
  duplicate_resource: 'info',
  apex_not_covered: 'info',
  protected_address: 'info',
  similar_name: 'info',
  undecided: 'info',
})
