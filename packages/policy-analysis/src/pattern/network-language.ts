import { MAX_NAME_LENGTH, rangeCovers, type NetworkPattern } from '@palisade/policy-core/internal'

type NamePattern = NetworkPattern & { readonly kind: 'name' }

/**
 * Tells whether `outer` matches every name or address, on every port, that `inner` matches. Exact
 * within one kind: a name never covers an address, nor the reverse.
 */
export function coversNetwork(outer: NetworkPattern, inner: NetworkPattern): boolean {
  if (outer.port !== null && outer.port !== inner.port) return false
  if (outer.kind === 'range') return inner.kind === 'range' && rangeCovers(outer.range, inner.range)
  return inner.kind === 'name' && (matchesNoName(inner) || coversNames(outer, inner))
}

/** Tells whether some name or address is matched by both patterns on some port. Exact. */
export function intersectsNetwork(a: NetworkPattern, b: NetworkPattern): boolean {
  if (a.port !== null && b.port !== null && a.port !== b.port) return false
  if (a.kind === 'range')
    return b.kind === 'range' && (rangeCovers(a.range, b.range) || rangeCovers(b.range, a.range))
  return b.kind === 'name' && !matchesNoName(a) && !matchesNoName(b) && intersectNames(a, b)
}

function coversNames(outer: NamePattern, inner: NamePattern): boolean {
  if (outer.depth === 'exact') return inner.depth === 'exact' && inner.domain === outer.domain
  const least = labelsBelow(outer.domain, inner.domain)
  if (least === null) return false
  if (inner.depth === 'exact') return outer.depth === 'one' ? least === 1 : least >= 1
  if (outer.depth === 'any') return true
  return least === 0 && (inner.depth === 'one' || roomBelow(inner.domain) === 1)
}

function intersectNames(a: NamePattern, b: NamePattern): boolean {
  if (a.depth === 'exact') return coversNames(b, a)
  if (b.depth === 'exact') return coversNames(a, b)
  if (a.depth === 'one' && b.depth === 'one') return a.domain === b.domain
  if (a.depth === 'one') return labelsBelow(b.domain, a.domain) !== null
  if (b.depth === 'one') return labelsBelow(a.domain, b.domain) !== null
  return labelsBelow(a.domain, b.domain) !== null || labelsBelow(b.domain, a.domain) !== null
}

/** Tells whether the pattern is a wildcard below a domain so long that no further label fits. */
export function matchesNoName({ depth, domain }: NamePattern): boolean {
  return depth !== 'exact' && roomBelow(domain) === 0
}

/** How many further labels of one letter fit below the domain. */
function roomBelow(domain: string): number {
  return Math.floor((MAX_NAME_LENGTH - domain.length) / 2)
}

/** How many labels `name` has more than `domain` above it; null when it is not below. */
function labelsBelow(domain: string, name: string): number | null {
  if (name === domain) return 0
  if (!name.endsWith(`.${domain}`)) return null
  return name.slice(0, -domain.length - 1).split('.').length
}
