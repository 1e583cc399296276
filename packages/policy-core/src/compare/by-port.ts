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
      if (port === null) {
        everywhere.push(item)
        return
      }
      const same = ports.get(port)
      if (same === undefined) ports.set(port, [item])
      else same.push(item)
    },
    on: (port) => (port === null ? all : [...everywhere, ...(ports.get(port) ?? [])]),
  }
}
