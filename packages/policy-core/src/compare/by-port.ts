/** Patterns that differ in nothing but the port, which may be tens of thousands. */
export interface ByPort<T> {
  readonly add: (item: T) => void
  /** The items that hold on a port; all of them when the port is null. */
  readonly on: (port: number | null) => readonly T[]
}

export function createByPort<
  T extends { readonly pattern: { readonly port: number | null } },
>(): ByPort<T> {
  const all: T[] = []
  const everywhere: T[] = []
  const ports = new Map<number, T[]>()
  return {
    add: (item) => {
      const { port } = item.pattern
      all.push(item)
      if (port === null) everywhere.push(item)
      else ports.set(port, [...(ports.get(port) ?? []), item])
    },
    on: (port) => (port === null ? all : [...everywhere, ...(ports.get(port) ?? [])]),
  }
}
