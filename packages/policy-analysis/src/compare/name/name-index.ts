import { countLabels, createDomainIndex } from '../../overlap/domain-index.ts'
import { chargeLookUp } from '../meter.ts'
import type { Near } from '../pattern-space.ts'
import type { NamePattern } from './find-name.ts'

/** Code units of a domain that cost as much as one entry. */
const UNITS_OF_ENTRY = 32

/**
 * Finds the patterns that may share a name with a region: patterns at and above its domain and,
 * for a wildcard, below it.
 */
export function indexNames<T extends { readonly pattern: NamePattern }>(
  items: readonly T[],
): Near<NamePattern, T> {
  const index = createDomainIndex<T>()
  for (const item of items) index.add(item, item.pattern.domain, item.pattern.port)
  return ({ resource: { domain, depth, port } }, meter) => {
    const near: T[] = []
    const labels = countLabels(domain)
    let domainsRead = 1 + labels
    for (const above of index.above(domain))
      for (const item of above.items.on(port)) near.push(item)
    for (const below of depth === 'exact' ? [] : index.below(domain)) {
      domainsRead += 1
      if (depth === 'one' && below.labels > labels + 1) continue
      for (const item of below.items.on(port)) near.push(item)
    }
    const unitsRead = 1 + Math.floor(domain.length / UNITS_OF_ENTRY)
    return chargeLookUp(meter, domainsRead * unitsRead, near)
  }
}
