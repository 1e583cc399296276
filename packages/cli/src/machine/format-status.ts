import type { AgentState, AgentStatus } from '@palisade/protocol'
import { formatAge } from '../terminal/age.ts'
import { count } from '../terminal/count.ts'
import type { Style } from '../terminal/style.ts'
import { formatPairs } from '../terminal/pairs.ts'
import { formatSync } from './format-sync.ts'

/** Meaning of each state, and its remedy. */
const MEANING: Readonly<Record<AgentState, string>> = {
  never_loaded: 'no policies yet: everything is denied; run `palisade sync`',
  fresh: 'policies are in force',
  stale: 'policies are in force but out of date; check why the server cannot be reached',
  expired: 'policies have expired: only offline hosts are allowed; bring the server back',
  rejected:
    'the last good policies are in force; those of the server were refused, tell its operator',
  conflict: 'two organizations claim this machine: everything is denied; remove one enrolment file',
  revoked:
    'this machine was revoked; its last policies stay in force until they expire; enrol it again',
  corrupt: 'the cached policies cannot be used: everything is denied; run `palisade sync`',
  unsupported: 'policies need a newer agent: everything is denied; update the agent',
  break_glass: 'a grant is in force: expired policies apply',
}

const SOURCE = {
  server: 'the server',
  cache: 'the cache',
  file: 'an imported file',
} as const

/** Formats the agent's status; `nowMs` turns instants into ages. */
export function formatStatus(
  status: AgentStatus,
  { hostName, nowMs }: { readonly hostName: string; readonly nowMs: number },
  style: Style,
): string {
  const { bundle } = status
  const age = (instant: string): string => style.plain(formatAge(instant, nowMs))
  const emphasis = status.state === 'fresh' ? style.good : style.bad
  const pairs: [string, string][] = [
    ['state', `${emphasis(status.state)}  ${style.quiet(MEANING[status.state])}`],
    ['machine', style.plain(`${hostName} (${status.device_id})`)],
    ...enrolledAs(status, style),
    ['organization', style.plain(status.org)],
    ['user', style.plain(status.user ?? 'none: organization-wide policies only')],
    ['server', style.plain(status.server)],
  ]
  if (status.enrolment_files !== undefined)
    pairs.push(['enrolments', style.plain(status.enrolment_files.join(', '))])
  const { break_glass: grant } = status
  if (grant !== null)
    pairs.push([
      'break-glass',
      style.warning(
        style.plain(`${grant.reason}; by ${grant.issued_by}, until ${grant.until} (${grant.id})`),
      ),
    ])
  if (bundle !== null) {
    const expires = Date.parse(bundle.expires_at) > nowMs ? 'expires' : 'expired'
    pairs.push(
      [
        'policies',
        `revision ${bundle.revision}, ${count(bundle.policies, 'policy', 'policies')}, ` +
          `${count(bundle.rules, 'rule', 'rules')}, from ${SOURCE[bundle.source]}`,
      ],
      // The signing time is omitted: it is the start of an hour and may precede the change.
      ['freshness', `stale ${age(bundle.stale_at)}, ${expires} ${age(bundle.expires_at)}`],
    )
  }
  if (bundle !== null) pairs.push(...formatModes(bundle, age, style))
  pairs.push(...formatGrants(status, age, style))
  if (status.local_rules !== undefined) pairs.push(...formatLocalRules(status.local_rules, style))
  pairs.push(
    ...formatSync(status, nowMs, style),
    ['proxy', style.plain(status.proxy)],
    ...formatParent(status.parent_proxy, age, style),
    ...describeProbe(status, age, style),
    ...describeAssurance(status, style),
    ['decisions', `${status.decisions.allowed} allowed, ${status.decisions.denied} denied`],
    ...formatRecords(status.records, style),
    ...formatUpload(status.upload, age, style),
    [
      'agent',
      style.plain(`${status.agent_version}, started ${formatAge(status.started_at, nowMs)}`),
    ],
  )
  return formatPairs(pairs, style)
}

/** The name at enrolment; the agent does not learn of a later rename on the server. */
function enrolledAs({ enrolled_as }: AgentStatus, style: Style): readonly [string, string][] {
  return enrolled_as === undefined ? [] : [['enrolled as', style.plain(enrolled_as)]]
}

/** A grant that counts is a warning: it opens more than the policies do. */
function formatGrants(
  { grants = [], unreadable_grants: unreadable = 0 }: AgentStatus,
  age: (instant: string) => string,
  style: Style,
): readonly [string, string][] {
  const lines = grants.map(({ id, action, resources, state, once, not_before, expires_at }) => {
    const target = style.plain(`${action} ${resources.join(', ')} (${id})`)
    const name = state.replaceAll('_', ' ')
    const shown = state === 'in_force' ? style.warning(name) : name
    const when = state === 'not_begun' ? `begins ${age(not_before)}` : `ends ${age(expires_at)}`
    const time = ['in_force', 'not_begun'].includes(state) ? `, ${when}` : ''
    return `${shown}${once === true ? ', once' : ''}${time}: ${target}`
  })
  if (unreadable > 0)
    lines.push(
      style.warning(`${count(unreadable, 'grant')} that this agent cannot read; update the agent`),
    )
  return lines.map((line, index) => [index === 0 ? 'access' : '', line])
}

function describeProbe(
  { probes }: AgentStatus,
  age: (instant: string) => string,
  style: Style,
): readonly [string, string][] {
  const probe = probes?.proxy ?? null
  if (probe === null) return []
  if (probe.ok)
    return [['self-probe', `${style.good('passed')} ${age(probe.at)}: the policy is in force`]]
  return [['self-probe', `${style.bad('failed')} ${age(probe.at)}: ${style.plain(probe.detail)}`]]
}

/** The reason is shown for each class but the highest: it tells how to reach the next one. */
function describeAssurance({ assurance }: AgentStatus, style: Style): readonly [string, string][] {
  if (assurance === undefined) return []
  const { class: name, reason } = assurance
  const shown = name === 'decisions-only' ? style.bad(name) : name
  return [['assurance', reason === null ? shown : `${shown}: ${style.plain(reason)}`]]
}

/** Only where records are lost or cannot be written. */
function formatRecords(records: AgentStatus['records'], style: Style): readonly [string, string][] {
  if (records === undefined || (records.lost === 0 && records.error === null)) return []
  const failing = records.error === null ? '' : `; they cannot be written now (${records.error})`
  const lost = `${count(records.lost, 'decision')} not recorded${failing}`
  return [['records', style.warning(lost)]]
}

/** One row while the upload is off; the user of a machine must see that it is on. */
function formatUpload(
  upload: AgentStatus['upload'],
  age: (instant: string) => string,
  style: Style,
): readonly [string, string][] {
  if (upload === undefined) return []
  const { mode, acknowledged, waiting, last_error } = upload
  if (mode === 'off') return [['upload', 'off: decision records stay on this machine']]
  const confirmed =
    acknowledged === null
      ? 'no record confirmed yet'
      : `confirmed up to ${acknowledged.seq}, ${age(acknowledged.at)}`
  const left = waiting === null ? '' : `, ${count(waiting, 'line')} waiting`
  const pairs: [string, string][] = [['upload', `${mode}: ${confirmed}${left}`]]
  if (last_error !== null)
    pairs.push([
      'upload error',
      style.warning(`${style.plain(last_error.message)}, ${age(last_error.at)}`),
    ])
  return pairs
}

/** Shown only where policies decide otherwise than by their present rules. */
function formatModes(
  bundle: NonNullable<AgentStatus['bundle']>,
  age: (instant: string) => string,
  style: Style,
): readonly [string, string][] {
  const pairs: [string, string][] = []
  if (bundle.default === 'observe')
    pairs.push(['default', style.warning('observe: requests that no rule matches are allowed')])
  if (bundle.shadow_policies !== undefined)
    pairs.push([
      'shadow',
      `${count(bundle.shadow_policies, 'policy', 'policies')}, recorded and not enforced`,
    ])
  if (bundle.next_expiry_at !== undefined)
    pairs.push(['next expiry', `of a rule, ${age(bundle.next_expiry_at)}`])
  return pairs
}

/** Names the place where addresses are decided, because rules on addresses hold only there. */
function formatParent(
  parent: AgentStatus['parent_proxy'],
  age: (instant: string) => string,
  style: Style,
): readonly [string, string][] {
  if (parent === undefined) return []
  const { url, resolves, last_error } = parent
  const pairs: [string, string][] = [
    ['parent proxy', style.plain(url)],
    [
      'addresses',
      resolves
        ? style.warning('resolved by the parent: rules on addresses do not apply to names')
        : 'resolved here',
    ],
  ]
  if (last_error !== null)
    pairs.push(['parent error', style.plain(`${last_error.message}, ${age(last_error.at)}`)])
  return pairs
}

const MAX_SHOWN = 10

type LocalRules = NonNullable<AgentStatus['local_rules']>
type LocalRule = LocalRules['rules'][number]

/** Status rows for the rules of this machine's own file: a count, then the rules. */
function formatLocalRules(
  { denies, allows, rules }: LocalRules,
  style: Style,
): readonly [string, string][] {
  const inactive =
    allows === 0
      ? ''
      : `; ${count(allows, 'allow')} inactive: the organization governs this machine`
  const shown = rules.slice(0, MAX_SHOWN)
  const more = denies + allows - shown.length
  return [
    ['local rules', `${count(denies, 'deny', 'denies')} in force${inactive}`],
    ...shown.map((rule): [string, string] => ['', style.plain(formatRule(rule))]),
    ...(shown.length > 0 && more > 0
      ? [['', `and ${count(more, 'more rule')}`] satisfies [string, string]]
      : []),
  ]
}

function formatRule({ decision, name, policy_name, ...rule }: LocalRule): string {
  const { actions, resources, resource_count } = rule
  const more = resource_count - resources.length
  const state = decision === 'allow' ? ' (inactive)' : ''
  return (
    `${decision}${state} by rule \`${name}\` of \`${policy_name}\`: ${actions.join(', ')} ` +
    `${resources.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  )
}
