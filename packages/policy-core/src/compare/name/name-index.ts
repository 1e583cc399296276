import { createByPort, type ByPort } from '../by-port.ts'
import { chargeLookUp } from '../meter.ts'
import type { Near } from '../space.ts'
import { firstWhere } from '../address/sorted-ranges.ts'
import type { NamePattern } from './find-name.ts'

/** Code units of a domain that are compared in the time of an entry. */
const UNITS_OF_ENTRY = 32

interface Domain<T> {
  /** Labels from right to left, each with a dot: names below the domain begin alike. */
  readonly key: string
  readonly labels: number
  readonly items: ByPort<T>
}

/**
 * Finds the patterns that may have a name in common with a region: those at its domain and above
 * and, under a wildcard, those below. O(labels + log of the domains + names below).
 *
 * Only domains that a pattern has are kept: with one entry for each domain above them, names of a
 * hundred labels take a hundred times their text.
 */
export function indexNames<T extends { readonly pattern: NamePattern }>(
  items: readonly T[],
): Near<NamePattern, T> {
  const domains = new Map<string, Domain<T>>()
  for (const item of items) itemsOf(domains, item.pattern.domain).add(item)
  const lengths = new Set([...domains.keys()].map(({ length }) => length))
  const sorted = [...domains.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1))
  return ({ resource: { domain, depth, port } }, meter) => {
    const near: T[] = []
    let domainsRead = 1
    const charged = (): readonly T[] =>
      chargeLookUp(meter, domainsRead * (1 + Math.floor(domain.length / UNITS_OF_ENTRY)), near)
    const add = ({ items: own }: Domain<T>): void => {
      for (const item of own.on(port)) near.push(item)
    }
    for (let from = 0; ; from = domain.indexOf('.', from) + 1) {
      domainsRead += 1
      // A name of a hundred labels is below as many domains; nearly none of them is in a pattern.
      if (lengths.has(domain.length - from)) {
        const known = domains.get(domain.slice(from))
        if (known !== undefined) add(known)
      }
      if (!domain.includes('.', from)) break
    }
    if (depth === 'exact') return charged()
    const { key, labels } = readDomain(domain)
    const first = firstWhere(0, sorted.length, (place) => (sorted[place]?.key ?? '') > key)
    for (let place = first; place < sorted.length; place += 1) {
      const below = sorted[place]
      if (below === undefined || !below.key.startsWith(key)) break
      domainsRead += 1
      if (depth === 'any' || below.labels === labels + 1) add(below)
    }
    return charged()
  }
}

function itemsOf<T extends { readonly pattern: NamePattern }>(
  domains: Map<string, Domain<T>>,
  domain: string,
): ByPort<T> {
  const known = domains.get(domain)
  if (known !== undefined) return known.items
  const items = createByPort<T>()
  domains.set(domain, { ...readDomain(domain), items })
  return items
}

function readDomain(domain: string): Omit<Domain<never>, 'items'> {
  const labels = domain.split('.')
  return { key: `${labels.toReversed().join('.')}.`, labels: labels.length }
}
