import type { Action } from '@palisade/policy-core'
import {
  FAMILY_BITS,
  formatAddress,
  formatHostPort,
  isLocalhostName,
  parseAddress,
  protectedClasses,
  protectionsOf,
  quote,
  rangeContains,
  rangeCovers,
  type IpRange,
  type ProtectedClass,
} from '@palisade/policy-core/internal'
import { createFinding, type Finding } from './finding.ts'
import { eachEntry, refer, type Entry, type LintRule, type LintSet } from './lint-rule.ts'

const THIS_NETWORK: IpRange = { family: 4, base: 0n, prefix: 8 }
const BROADCAST: IpRange = { family: 4, base: 0xffff_ffffn, prefix: 32 }
const LINK_LOCAL_V6: IpRange = { family: 6, base: 0xfe80n << 112n, prefix: 10 }
const MULTICAST: readonly IpRange[] = [
  { family: 4, base: 0xe000_0000n, prefix: 4 },
  { family: 6, base: 0xff00n << 112n, prefix: 8 },
]

/**
 * Names of cloud metadata services, and of loopback in `/etc/hosts`. Each resolves to a protected
 * address, which an allow of a name never opens.
 */
const PROTECTED_NAMES: ReadonlyMap<string, string> = new Map([
  ['metadata', '169.254.169.254'],
  ['metadata.google.internal', '169.254.169.254'],
  ['metadata.goog', '169.254.169.254'],
  ['instance-data', '169.254.169.254'],
  ['instance-data.ec2.internal', '169.254.169.254'],
  ['localhost4', '127.0.0.1'],
  ['localhost6', '::1'],
  ['ip6-localhost', '::1'],
  ['ip6-loopback', '::1'],
])

/** The protected classes, and those that an allow opens because it lies inside them. */
export interface Openings {
  readonly classes: readonly ProtectedClass[]
  /** The classes of the machine's own addresses. */
  readonly machine: readonly ProtectedClass[]
  /** Whether an allow inside `range` exists on the port; null means on at least one port. */
  readonly isOpened: (action: Action, range: IpRange, port: number | null) => boolean
}

export function readOpenings({ rules, machine }: LintSet): Openings {
  const fixed = protectedClasses([])
  const opened = new Set<string>()
  for (const { entry, action } of eachEntry(rules, 'allow')) {
    if (entry.pattern.kind !== 'range') continue
    const { range, port } = entry.pattern
    // A class of the machine's own addresses is a single address, which only `range` itself equals.
    const ranges = [range, ...fixed.map((each) => each.range)]
    for (const each of ranges.filter((outer) => rangeCovers(outer, range)))
      for (const on of ['some', port ?? 'every']) opened.add(openingKey(action, each, on))
  }
  return {
    classes: protectedClasses(machine),
    machine,
    isOpened: (action, range, port) =>
      opened.has(openingKey(action, range, port ?? 'some')) ||
      opened.has(openingKey(action, range, 'every')),
  }
}

/** Finds allows that open protected addresses, or seem to but do not. */
export function findProtected(rule: LintRule, openings: Openings): Finding[] {
  if (!rule.active || rule.decision === 'deny') return []
  return rule.entries.flatMap((entry) => [
    ...findClosedName(entry, openings),
    ...findClosedRange(entry, openings),
    ...findOpener(entry, openings),
  ])
}

/** Such an allow is how policies are meant to open these addresses, so it is for review only. */
function findOpener(entry: Entry, { machine }: Openings): Finding[] {
  const { pattern, rule } = entry
  if (pattern.kind !== 'range') return []
  const { family, base } = pattern.range
  const opened = protectionsOf({ family, value: base }, machine).filter(({ isOpenedBy }) =>
    isOpenedBy(pattern.range),
  )
  if (opened.length === 0) return []
  const text = quote(entry.text)
  const why = rule.actions.map((action) => describeUnreachable(pattern.range, action))
  if (why.every((each) => each !== null))
    return [
      createFinding(
        'unreachable_address',
        [refer(entry)],
        `allowing ${text} has no effect: ${why[0] ?? ''}`,
        `remove ${text}, or write the address of the host`,
      ),
    ]
  const labels = [...new Set(opened.map(({ label }) => label))].join(', ')
  return [
    createFinding(
      'opens_protected',
      [refer(entry)],
      `${text} opens protected addresses (${labels})`,
      `keep ${text} only if programs need this address; names and wider ranges never open it`,
    ),
  ]
}

/** Says why no connection to the range can succeed, or returns null. */
function describeUnreachable({ family, base, prefix }: IpRange, action: Action): string | null {
  const inside = (outer: IpRange): boolean => rangeCovers(outer, { family, base, prefix })
  if (inside(LINK_LOCAL_V6))
    return 'a link-local IPv6 address needs a zone, which rules do not have'
  if (inside(BROADCAST)) return 'it is the broadcast address'
  if (inside(THIS_NETWORK) && base !== 0n) return 'no host has an address in `0.0.0.0/8`'
  if (action === 'connect:tcp' && MULTICAST.some(inside))
    return 'TCP does not reach multicast addresses'
  return null
}

function findClosedName(entry: Entry, { classes, isOpened }: Openings): Finding[] {
  const { pattern, rule } = entry
  if (pattern.kind !== 'name') return []
  const address = isLocalhostName(pattern.domain)
    ? '127.0.0.1'
    : pattern.depth === 'exact'
      ? PROTECTED_NAMES.get(pattern.domain)
      : undefined
  const parsed = parseAddress(address ?? '')
  if (address === undefined || parsed === null) return []
  const protectedBy = classes.filter(({ range }) => rangeContains(range, parsed))
  if (
    rule.actions.some((action) =>
      protectedBy.every(({ range }) => isOpened(action, range, pattern.port)),
    )
  )
    return []
  const isMachine = protectedBy.some(({ label }) => label === 'loopback')
  return [
    createFinding(
      'protected_name',
      [refer(entry)],
      `${quote(entry.text)} is ${isMachine ? 'the machine itself' : 'a cloud metadata service'}, ` +
        'which an allow of a name never opens',
      isMachine
        ? `allow ${quote(formatHostPort(address, pattern.port))}`
        : `remove ${quote(entry.text)}; such a service hands out the credentials of the machine`,
    ),
  ]
}

function findClosedRange(entry: Entry, { classes, isOpened }: Openings): Finding[] {
  const { pattern, rule } = entry
  // Ranges of all addresses have the finding `too_broad` already.
  if (pattern.kind !== 'range' || pattern.range.prefix === 0) return []
  const closed = classes.filter(
    ({ range }) =>
      range.prefix > pattern.range.prefix &&
      rangeCovers(pattern.range, range) &&
      !rule.actions.some((action) => isOpened(action, range, pattern.port)),
  )
  const [first] = closed
  if (first === undefined) return []
  const names = closed.map(({ label, range }) => `${quote(formatRange(range))} (${label})`)
  const shown = names.slice(0, 5).join(', ')
  const list = names.length > 5 ? `${shown} and ${names.length - 5} more` : shown
  return [
    createFinding(
      'protected_address',
      [refer(entry)],
      `${quote(entry.text)} does not open the protected addresses in it: ${list}`,
      `allow ${quote(formatRange(first.range))} as well if it is needed, or leave it closed`,
    ),
  ]
}

function formatRange({ family, base, prefix }: IpRange): string {
  const first = formatAddress({ family, value: base })
  return prefix === FAMILY_BITS[family] ? first : `${first}/${prefix}`
}

function openingKey(
  action: Action,
  { family, base, prefix }: IpRange,
  on: number | string,
): string {
  return `${action} ${family} ${base}/${prefix} ${on}`
}
