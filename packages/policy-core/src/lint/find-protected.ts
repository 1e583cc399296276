import { FAMILY_BITS, formatAddress } from '../address/ip-address.ts'
import { rangeCovers, type IpRange } from '../address/ip-range.ts'
import { formatHostPort, isLocalhostName } from '../host/host.ts'
import { quote } from '../quote.ts'
import { createFinding, type Finding } from './finding.ts'
import { refer, type Entry, type LintRule } from './lint-rule.ts'
import type { Openings } from './openings.ts'

const LOOPBACK: IpRange = { family: 4, base: 0x7f00_0000n, prefix: 8 }

/** Finds allows that seem to open protected addresses but do not. */
export function findProtected(rule: LintRule, openings: Openings): Finding[] {
  if (!rule.active || rule.decision === 'deny') return []
  return rule.entries.flatMap((entry) => [
    ...findClosedName(entry, openings),
    ...findClosedRange(entry, openings),
  ])
}

function findClosedName(entry: Entry, { isOpened }: Openings): Finding[] {
  const { pattern, rule } = entry
  if (pattern.kind !== 'name' || !isLocalhostName(pattern.domain)) return []
  if (rule.actions.some((action) => isOpened(action, LOOPBACK, pattern.port))) return []
  return [
    createFinding(
      'protected_name',
      [refer(entry)],
      `${quote(entry.text)} is the machine itself, which an allow of a name never opens`,
      `allow ${quote(formatHostPort('127.0.0.1', pattern.port))}`,
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
