import type { Action } from '@palisade/policy-core'
import {
  formatHostPort,
  isLocalhostName,
  quote,
  type NetworkPattern,
} from '@palisade/policy-core/internal'
import { describeBroadDomain } from './find-broad.ts'
import type { CoverFinder } from './find-cover.ts'
import { findOpener } from './find-opener.ts'
import { createFinding, type Finding } from './finding.ts'
import { deeperThan, keyOf, onPort, portOf, widen } from './lint-pattern.ts'
import { refer, type Entry } from './lint-rule.ts'
import type { NamesAround } from './names-around.ts'

/**
 * Finds gaps in a deny that a wider allow leaves open, although the deny was meant to close them.
 */
export function findLeftOpen(entry: Entry, around: NamesAround, finder: CoverFinder): Finding[] {
  const { pattern, rule } = entry
  if (rule.decision === 'allow') return []
  // An allow never opens a localhost name.
  if (pattern.kind === 'name' && isLocalhostName(pattern.domain)) return []
  return [
    ...findOpenApex(entry, around, finder),
    ...findOpenLevels(entry, around, finder),
    ...findOtherAction(entry, finder),
  ]
}

function findOpenApex(entry: Entry, around: NamesAround, finder: CoverFinder): Finding[] {
  const { pattern, rule } = entry
  if (pattern.kind !== 'name' || pattern.depth === 'exact') return []
  const { domain } = pattern
  if (describeBroadDomain(domain) !== null || !domain.includes('.')) return []
  const isSettled = rule.actions.some(
    (action) => around.isCovered('deny', action, domain) || around.isNamed('allow', action, domain),
  )
  if (isSettled) return []
  const apex: NetworkPattern = { ...pattern, depth: 'exact' }
  for (const action of rule.actions) {
    const opener = findOpener(entry, action, apex, finder)
    if (opener === 'unknown') return [describeUndecided(entry)]
    if (opener === null) continue
    return [
      createFinding(
        'deny_without_apex',
        [refer(entry), refer(opener)],
        `${quote(entry.text)} does not deny ${quote(domain)} itself, ` +
          `which ${quote(opener.text)} allows`,
        `deny ${quote(formatHostPort(domain, pattern.port))} as well, ` +
          `or allow it by name if it should stay open`,
      ),
    ]
  }
  return []
}

/**
 * Finds open levels below a deny of a single `*`. An allow that names a deeper level shows that its
 * author knows that `*` covers one level, so such a deny is not reported.
 */
function findOpenLevels(entry: Entry, around: NamesAround, finder: CoverFinder): Finding[] {
  const { pattern, rule, text } = entry
  const deeper = deeperThan(pattern)
  if (deeper === null) return []
  for (const action of rule.actions) {
    if (pattern.kind === 'name' && around.hasDeeper(action, pattern.domain)) continue
    const opener = findOpener(entry, action, deeper, finder)
    if (opener === null) continue
    if (opener === 'unknown') return [describeUndecided(entry)]
    return [
      createFinding(
        'deny_one_level',
        [refer(entry), refer(opener)],
        `${quote(text)} denies one level, but ${quote(opener.text)} allows deeper levels`,
        `write ${quote(widen(entry))}, which denies every level`,
      ),
    ]
  }
  return []
}

/** Pairs of actions with the same target. Authors who deny the first often forget the second. */
const ALSO: ReadonlyMap<Action, Action> = new Map([
  ['connect:tcp', 'connect:udp'],
  ['read', 'write'],
])

/** The port that serves both TCP and UDP, because HTTP/3 uses UDP. */
const SHARED_PORT = 443

function findOtherAction(entry: Entry, finder: CoverFinder): Finding[] {
  const { pattern, rule, text } = entry
  if ((portOf(pattern) ?? SHARED_PORT) !== SHARED_PORT) return []
  for (const action of rule.actions) {
    const other = ALSO.get(action)
    if (other === undefined || rule.actions.includes(other)) continue
    const opener = findOpener(entry, other, onPort(pattern, SHARED_PORT), finder)
    // An allow that is denied as a whole has the finding `shadowed` already.
    if (opener === null || (opener !== 'unknown' && deniesAllOf(entry, opener))) continue
    if (opener === 'unknown') return [describeUndecided(entry)]
    return [
      createFinding(
        'deny_one_action',
        [refer(entry), refer(opener)],
        `${quote(text)} is denied for ${quote(action)} only; ` +
          `${quote(opener.text)} allows ${quote(other)} there`,
        `add ${quote(other)} to the actions of the deny`,
      ),
    ]
  }
  return []
}

/** Tells whether the deny has the same pattern as the allow, on the same port or on all ports. */
function deniesAllOf(deny: Entry, { key, pattern }: Entry): boolean {
  return (
    key === deny.key || (portOf(deny.pattern) === null && keyOf(onPort(pattern, null)) === deny.key)
  )
}

function describeUndecided(entry: Entry): Finding {
  return createFinding(
    'undecided',
    [refer(entry)],
    `the budget ran out before it was clear whether other rules open ` +
      `parts of the deny ${quote(entry.text)}`,
    'write patterns with fewer `*` and `**`, or split the policies before checking them',
  )
}
