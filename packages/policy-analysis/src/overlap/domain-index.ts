import { createByPort, type ByPort } from './by-port.ts'
import { firstWhere } from './first-where.ts'

/** A domain of some pattern, regardless of its stars. */
export interface IndexedDomain<T> {
  /** Labels from right to left, each with a dot: names below the domain begin alike. */
  readonly key: string
  readonly labels: number
  readonly items: ByPort<T>
}

/**
 * Finds domains around one. Only domains that a pattern has are kept: with one entry for each
 * domain above them, names of a hundred labels take a hundred times their text.
 */
export interface DomainIndex<T> {
  readonly add: (item: T, domain: string, port: number | null) => void
  /** The domain itself and those above it, the longest first. O(labels). */
  readonly above: (domain: string) => Iterable<IndexedDomain<T>>
  /** The domains below it. O(log of the domains + domains below). */
  readonly below: (domain: string) => Iterable<IndexedDomain<T>>
}

export function createDomainIndex<T>(): DomainIndex<T> {
  const domains = new Map<string, IndexedDomain<T>>()
  const lengths = new Set<number>()
  let sorted: readonly IndexedDomain<T>[] | null = null
  return {
    add(item, domain, port) {
      let known = domains.get(domain)
      if (known === undefined) {
        known = { ...readDomain(domain), items: createByPort() }
        domains.set(domain, known)
        lengths.add(domain.length)
        sorted = null
      }
      known.items.add(item, port)
    },
    *above(domain) {
      for (let from = 0; ; from = domain.indexOf('.', from) + 1) {
        // A name of a hundred labels is below as many domains, of which patterns name hardly any.
        const known = lengths.has(domain.length - from)
          ? domains.get(domain.slice(from))
          : undefined
        if (known !== undefined) yield known
        if (!domain.includes('.', from)) return
      }
    },
    *below(domain) {
      sorted ??= [...domains.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1))
      const all = sorted
      const { key } = readDomain(domain)
      const first = firstWhere(0, all.length, (index) => (all[index]?.key ?? '') > key)
      for (let index = first; all[index]?.key.startsWith(key) === true; index += 1)
        yield all[index]!
    },
  }
}

export function countLabels(domain: string): number {
  return domain.split('.').length
}

function readDomain(domain: string): Omit<IndexedDomain<never>, 'items'> {
  const key = `${domain.split('.').toReversed().join('.')}.`
  return { key, labels: countLabels(domain) }
}
