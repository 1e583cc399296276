import {
  canonicalHost,
  isFilesystemAction,
  isNetworkAction,
  type Action,
} from '@palisade/policy-core'
import type { UncoveredReason } from '@palisade/protocol'
import type { SuggestRules, RecordedRequest, Seen } from './suggest-input.ts'
import type { UncoveredList } from './uncovered-requests.ts'

/** A readable target of a record. */
export interface Target {
  readonly action: Action
  /** The host of a network request; else null, as is `port`. */
  readonly host: string | null
  readonly port: number | null
  /** The path of a file request; else null. */
  readonly path: string | null
  /** Whether the path is a directory with everything below it. */
  readonly isTree: boolean
  /** With `by: program` the program alone, else null. */
  readonly program: string | null
}

/** Requests for a target that no rule matches. */
export interface OpenTarget {
  readonly target: Target
  /** With one address or none. */
  readonly lines: { readonly address: string | null; readonly seen: readonly Seen[] }[]
}

export interface SortedRequests {
  readonly open: readonly OpenTarget[]
  readonly decisions: number
  readonly devices: number
}

type Tuple = RecordedRequest['tuple']

/** Returns the records that a rule may answer, by target; adds the others to `uncovered`. */
export function sortRequests(
  requests: Iterable<RecordedRequest>,
  { from, by }: Pick<SuggestRules, 'from' | 'by'>,
  uncovered: UncoveredList,
): SortedRequests {
  const open = new Map<string, OpenTarget>()
  const devices = new Set<string>()
  let decisions = 0
  for (const { tuple, sightings } of requests) {
    const reason = reasonAgainst(tuple, from)
    if (reason === 'unasked') continue
    const seen = sightings.map((each) => ({ ...each, program: tuple.program }))
    for (const each of seen) {
      devices.add(each.device_id)
      decisions += each.decisions
    }
    const target = reason === null ? readTarget(tuple, by) : null
    if (target === null) {
      const why = reason ?? 'unreadable'
      uncovered.add({ reason: why, detail: describeReason(tuple, why) }, tuple, seen)
      continue
    }
    const { action, host, port, path, isTree, program } = target
    const key = JSON.stringify([action, host, port, path, isTree, program])
    const entry: OpenTarget = open.get(key) ?? { target, lines: [] }
    entry.lines.push({ address: tuple.address, seen })
    open.set(key, entry)
  }
  return { open: [...open.values()], decisions, devices: devices.size }
}

/** Null for a record that a rule may answer; `unasked` for one that is not in question. */
function reasonAgainst(
  { reason, rules, path_cut }: Tuple,
  from: SuggestRules['from'],
): UncoveredReason | 'unasked' | null {
  switch (reason) {
    case 'default_deny':
      return from === 'observed' ? 'unasked' : path_cut ? 'path_cut' : null
    case 'observed':
      return from === 'denials' ? 'unasked' : path_cut ? 'path_cut' : null
    case 'rule':
      return rules.some(({ decision }) => decision === 'deny') ? 'denied_by_rule' : 'unasked'
    case 'protected_address':
      return 'protected_address'
    case 'invalid_request':
      return 'unreadable'
    default:
      return 'not_evaluated'
  }
}

/** In the place of U+0000, or of bytes that are no text: a rule would name another target. */
const REPLACED = '\u{FFFD}'

function readTarget(tuple: Tuple, by: SuggestRules['by']): Target | null {
  const { action, host, port, path, protocol } = tuple
  const program = by === 'program' ? tuple.program : null
  if ([host, path, program].some((text) => text?.includes(REPLACED) === true)) return null
  if (isNetworkAction(action) && host !== null && port !== null)
    return { action, host: canonicalize(host), port, path: null, isTree: false, program }
  if (isFilesystemAction(action) && path !== null)
    return { action, host: null, port: null, path, isTree: protocol === 'mount', program }
  return null
}

/**
 * A machine may upload any spelling. `GITHUB.IO` and `github\u3002io` are no public suffixes as
 * text, and the rule for them would open `github.io`. One that is no host is found invalid later.
 */
function canonicalize(host: string): string {
  const canonical = canonicalHost(host)
  if (canonical === null) return host
  return canonical.kind === 'name' ? canonical.name : canonical.address
}

function describeReason({ rules }: Tuple, reason: UncoveredReason): string {
  switch (reason) {
    case 'denied_by_rule': {
      const rule = rules.find(({ decision }) => decision === 'deny')
      if (rule?.origin === 'local') return 'a rule of the machine denies it'
      return `rule \`${rule?.rule_id ?? ''}\` of policy \`${rule?.policy_id ?? ''}\` denies it`
    }
    case 'protected_address':
      return 'it leads to a protected address, which only a rule for that address opens'
    case 'path_cut':
      return 'only the beginning of the path was uploaded; see `path_depth` of the organization'
    case 'not_evaluated':
      return 'the machine had no policy that it could evaluate'
    default:
      return 'the machine could not read the request'
  }
}
