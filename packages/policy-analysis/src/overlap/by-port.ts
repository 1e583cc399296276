/** Patterns that differ only in the port. There may be tens of thousands. */
export interface ByPort<T> {
  /** Without a port the item holds on every one. */
  readonly add: (item: T, port: number | null) => void
  /** The items that hold on a port; all of them when the port is null. */
  readonly on: (port: number | null) => readonly T[]
  /** The items that hold on a port; those that hold on every port when the port is null. */
  readonly covering: (port: number | null) => readonly T[]
}

export function createByPort<T>(): ByPort<T> {
  const all: T[] = []
  const everywhere: T[] = []
  const ports = new Map<number, T[]>()
  const at = (port: number): readonly T[] => {
    const own = ports.get(port)
    return own === undefined ? everywhere : [...everywhere, ...own]
  }
  return {
    add: (item, port) => {
      all.push(item)
      if (port === null) {
        everywhere.push(item)
        return
      }
      const same = ports.get(port)
      if (same === undefined) ports.set(port, [item])
      else same.push(item)
    },
    on: (port) => (port === null ? all : at(port)),
    covering: (port) => (port === null ? everywhere : at(port)),
  }
}
