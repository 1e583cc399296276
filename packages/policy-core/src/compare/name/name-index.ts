import type { Region } from '../space.ts'
import { createByPort, type ByPort } from '../by-port.ts'
import type { NamePattern } from './find-name.ts'

interface Domain<T> {
  readonly items: ByPort<T>
  readonly children: Set<string>
}

/**
 * Finds the patterns that may have a name in common with a region: those at its domain and above
 * and, under a wildcard, those below. O(labels + what is found).
 */
export function indexNames<T extends { readonly pattern: NamePattern }>(
  items: readonly T[],
): (region: Region<NamePattern>) => readonly T[] {
  const domains = new Map<string, Domain<T>>()
  for (const item of items) domainAt(domains, item.pattern.domain).items.add(item)
  const childrenOf = (name: string): Iterable<string> => domains.get(name)?.children ?? []
  return ({ resource: { domain, depth, port } }) => {
    const itemsAt = (name: string): readonly T[] => domains.get(name)?.items.on(port) ?? []
    const near = suffixes(domain).flatMap(itemsAt)
    const waiting = depth === 'exact' ? [] : [...childrenOf(domain)]
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      for (const item of itemsAt(name)) near.push(item)
      if (depth === 'any') for (const child of childrenOf(name)) waiting.push(child)
    }
    return near
  }
}

function domainAt<T extends { readonly pattern: NamePattern }>(
  domains: Map<string, Domain<T>>,
  name: string,
): Domain<T> {
  const known = domains.get(name)
  if (known !== undefined) return known
  const created: Domain<T> = { items: createByPort<T>(), children: new Set() }
  domains.set(name, created)
  const dot = name.indexOf('.')
  if (dot >= 0) domainAt(domains, name.slice(dot + 1)).children.add(name)
  return created
}

/** The name itself and every domain above it. */
function suffixes(name: string): readonly string[] {
  const labels = name.split('.')
  return labels.map((_, from) => labels.slice(from).join('.'))
}
