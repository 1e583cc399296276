import type { Depth, NetworkPattern } from '../pattern/network-pattern.ts'
import type { CoverIndex } from './cover-index.ts'
import type { Entry } from './lint-rule.ts'

type NamePattern = NetworkPattern & { readonly kind: 'name' }

/** Finds the name patterns at the domain of another one and above. O(labels) a question. */
export function createNameIndex(): CoverIndex<NamePattern> {
  /** By domain, then by depth and port. */
  const domains = new Map<string, Map<string, Entry[]>>()
  return {
    add: (entry, { depth, domain, port }) => {
      const kinds = domains.get(domain) ?? new Map<string, Entry[]>()
      domains.set(domain, kinds)
      const list = kinds.get(kindOf(depth, port))
      if (list === undefined) kinds.set(kindOf(depth, port), [entry])
      else list.push(entry)
    },
    candidates: function* ({ domain, port }) {
      for (const above of domainsFrom(domain)) {
        const kinds = domains.get(above)
        if (kinds === undefined) continue
        for (const depth of ['exact', 'one', 'any'] as const)
          for (const asked of port === null ? [null] : [null, port])
            yield* kinds.get(kindOf(depth, asked)) ?? []
      }
    },
  }
}

function kindOf(depth: Depth, port: number | null): string {
  return `${depth} ${port ?? '*'}`
}

/** The domain, and every domain above it. */
export function domainsFrom(domain: string): string[] {
  const domains = [domain]
  for (let dot = domain.indexOf('.'); dot >= 0; dot = domain.indexOf('.', dot + 1))
    domains.push(domain.slice(dot + 1))
  return domains
}
