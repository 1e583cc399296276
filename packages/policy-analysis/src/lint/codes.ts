/** Severity of a finding: `error` and `warning` ask for a change, `info` asks for a review. */
export type Severity = 'error' | 'warning' | 'info'

/** Subject of a finding. The table at `LINT_SEVERITIES` explains each code. */
export type LintCode =
  | 'repeated_id'
  | 'shadowed'
  | 'inactive'
  | 'expired'
  | 'matches_nothing'
  | 'single_star'
  | 'deny_without_apex'
  | 'deny_one_level'
  | 'deny_one_action'
  | 'deny_every_address'
  | 'literal_syntax'
  | 'port_in_address'
  | 'too_broad'
  | 'protected_name'
  | 'unreachable_address'
  | 'confusable_host'
  | 'similar_resource'
  | 'write_without_read'
  | 'redundant'
  | 'duplicate_resource'
  | 'apex_not_covered'
  | 'directory_alone'
  | 'protected_address'
  | 'opens_protected'
  | 'similar_name'
  | 'undecided'

/**
 * Every finding code of `lint`, with its severity and the reason for it.
 *
 * | Code                   | Severity | Reason                                                   |
 * | ---------------------- | -------- | -------------------------------------------------------- |
 * | `repeated_id`          | error    | logs and decisions name rules by id                      |
 * | `shadowed`             | warning  | the author expects an allow, but a deny decides          |
 * | `matches_nothing`      | warning  | the pattern asks for more than a name or path may hold   |
 * | `single_star`          | warning  | the deny has no effect: the allow was meant to have `**` |
 * | `deny_without_apex`    | warning  | a wider allow keeps the domain itself open               |
 * | `deny_one_level`       | warning  | a wider allow keeps deeper levels open                   |
 * | `deny_one_action`      | warning  | UDP stays open beside TCP, or write beside read          |
 * | `deny_every_address`   | warning  | a deny decides, so allowed names have no address left    |
 * | `literal_syntax`       | warning  | notations of other tools are literal text in rules       |
 * | `port_in_address`      | warning  | an IPv6 address without brackets takes a port as a group |
 * | `too_broad`            | warning  | strangers can get such names, or the range is huge       |
 * | `protected_name`       | warning  | a name never opens this machine or cloud metadata        |
 * | `unreachable_address`  | warning  | no connection to such an address succeeds                |
 * | `confusable_host`      | warning  | letters of another script imitate another name           |
 * | `similar_resource`     | warning  | paths that differ by letter case: one is a mistake       |
 * | `write_without_read`   | warning  | a writable mount needs both                              |
 * | `inactive`             | info     | a governed machine ignores the user's own allows         |
 * | `expired`              | info     | the rule has no effect any more                          |
 * | `redundant`            | info     | harmless; its removal would seem to close access         |
 * | `duplicate_resource`   | info     | the same, with the same pattern                          |
 * | `apex_not_covered`     | info     | often intended, often overlooked                         |
 * | `directory_alone`      | info     | a directory without `/**` stands for itself alone        |
 * | `protected_address`    | info     | the range does not open protected addresses in it        |
 * | `opens_protected`      | info     | the rule opens this machine, a link or cloud metadata    |
 * | `similar_name`         | info     | people confuse the two; decisions do not                 |
 * | `undecided`            | info     | a question exceeded the budget of `lint`                 |
 *
 * `too_broad` knows a short list of providers. `confusable_host` does not find look-alikes among
 * Latin letters, such as `rn` or `1`.
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
  port_in_address: 'warning',
  too_broad: 'warning',
  protected_name: 'warning',
  unreachable_address: 'warning',
  confusable_host: 'warning',
  similar_resource: 'warning',
  write_without_read: 'warning',
  inactive: 'info',
  expired: 'info',
  redundant: 'info',
  duplicate_resource: 'info',
  apex_not_covered: 'info',
  directory_alone: 'info',
  protected_address: 'info',
  opens_protected: 'info',
  similar_name: 'info',
  undecided: 'info',
})
