import type { Action } from '@palisade/policy-core'
import {
  CARRIERS,
  embeddedIpv4,
  lastAddress,
  protectedClasses,
  protectionsOf,
  rangeContains,
  singleAddress,
  type IpAddress,
  type IpRange,
} from '@palisade/policy-core/internal'
import type { Answer } from '../pattern/path-containment.ts'
import type { Cover, CoverFinder } from './find-cover.ts'
import { onPort, portOf, type LintPattern } from './lint-pattern.ts'
import type { Entry } from './lint-rule.ts'

/** Ranges of all addresses. An allow of one allows every name too. */
const CATCH_ALLS: readonly LintPattern[] = ([4, 6] as const).map((family) => ({
  kind: 'range',
  range: { family, base: 0n, prefix: 0 },
  port: null,
}))

/**
 * The first allow that leaves all of `pattern` open on at least one of its ports, although `deny`
 * was meant to close it. Null also when another deny closes it.
 */
export function findOpener(
  deny: Entry,
  action: Action,
  pattern: LintPattern,
  finder: CoverFinder,
): Cover {
  const catchAlls = CATCH_ALLS.map((all) => onPort(all, portOf(pattern)))
  const wanted = pattern.kind === 'name' ? [pattern, ...catchAlls] : [pattern]
  const isOpen = (allow: Entry, each: LintPattern): Answer => {
    const port = portOf(pattern) ?? portOf(allow.pattern)
    const closers = [pattern, each].map((closed) =>
      finder.coverOf(deny, 'deny', action, onPort(closed, port)),
    )
    if (closers.every((closer) => closer === null)) return 'yes'
    return closers.some((closer) => closer !== null && closer !== 'unknown') ? 'no' : 'unknown'
  }
  for (const each of wanted) {
    const opener = finder.openerOf(deny, action, each, (allow) =>
      opensSome(allow, { deny, action, pattern, finder }) ? isOpen(allow, each) : 'no',
    )
    if (opener !== null) return opener
  }
  return null
}

interface Opening {
  readonly deny: Entry
  readonly action: Action
  readonly pattern: LintPattern
  readonly finder: CoverFinder
}

/**
 * Tells whether the allow opens at least one address of a range. A wide range opens no protected
 * address, and a deny of an IPv4 address also denies the IPv6 addresses that carry it. Names and
 * paths always return true.
 */
function opensSome({ pattern: allowed }: Entry, opening: Opening): boolean {
  const { pattern, finder } = opening
  if (pattern.kind !== 'range' || allowed.kind !== 'range') return true
  const { family, base } = pattern.range
  // The first address after each protected class and each range that carries IPv4.
  const closed = [...protectedClasses(finder.machine), ...CARRIERS].map(({ range }) => range)
  const starts = closed.filter((range) => range.family === family).map(addressBehind)
  return [base, ...starts]
    .map((value) => ({ family, value }))
    .filter((address) => rangeContains(pattern.range, address))
    .some((address) => isOpened(address, allowed, opening))
}

function isOpened(
  address: IpAddress,
  allowed: LintPattern & { readonly kind: 'range' },
  { deny, action, pattern, finder }: Opening,
): boolean {
  const isNamed = protectionsOf(address, finder.machine).every(({ isOpenedBy }) =>
    isOpenedBy(allowed.range),
  )
  if (!isNamed) return false
  const port = portOf(pattern) ?? allowed.port
  const carried = embeddedIpv4(address).map((inner) => inner.address)
  return [address, ...carried].every((each) => {
    const closer: LintPattern = { kind: 'range', range: singleAddress(each), port }
    return finder.coverOf(deny, 'deny', action, closer) === null
  })
}

function addressBehind(range: IpRange): bigint {
  return lastAddress(range) + 1n
}
