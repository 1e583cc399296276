/** `198.18.0.0/15` without its first and last address: for tests of devices, never routed. */
const FIRST = 0xc6120001
const ADDRESSES = (1 << 17) - 2

export interface NameTableLimits {
  /** Names at once. */
  readonly names: number
  /** A name keeps its address for this long after its last use. */
  readonly keptMs: number
}

/** A program may use an address long after the answer that held it. */
export const NAME_TABLE_LIMITS: NameTableLimits = { names: 4_096, keptMs: 10 * 60_000 }

/** The synthetic addresses of one sandbox, each of which stands for a name. */
export interface NameTable {
  /** The address of a canonical name, a new one if it has none; null while the table is full. */
  addressOf(name: string): string | null
  /** Null for an address that stands for no name now. */
  nameAt(address: string): string | null
  /** Keeps the address of a name from other names until the returned function is called. */
  hold(name: string): () => void
  size(): number
}

interface Entry {
  readonly address: string
  usedMs: number
  holders: number
}

/**
 * Addresses are handed out in order, each once before the first is handed out again. So an address
 * means another name only after a long time, and never while a connection uses it.
 */
export function createNameTable(
  /** Monotonic milliseconds. */
  uptime: () => number,
  limits: NameTableLimits = NAME_TABLE_LIMITS,
): NameTable {
  /** In the order of their last use. */
  const names = new Map<string, Entry>()
  const addresses = new Map<string, string>()
  let next = 0

  const touch = (name: string, entry: Entry): void => {
    entry.usedMs = uptime()
    names.delete(name)
    names.set(name, entry)
  }

  /** Whether there is room for one more name. Each visited name is released, or is used now. */
  const makeRoom = (): boolean => {
    if (names.size < limits.names) return true
    for (const [name, entry] of names) {
      if (uptime() - entry.usedMs < limits.keptMs) return false
      if (entry.holders === 0) {
        names.delete(name)
        addresses.delete(entry.address)
        return true
      }
      touch(name, entry)
    }
    return false
  }

  const takeAddress = (): string => {
    for (;;) {
      const address = formatIpv4(FIRST + next)
      next = (next + 1) % ADDRESSES
      if (!addresses.has(address)) return address
    }
  }

  return {
    addressOf(name) {
      const known = names.get(name)
      if (known !== undefined) {
        touch(name, known)
        return known.address
      }
      if (!makeRoom()) return null
      const address = takeAddress()
      names.set(name, { address, usedMs: uptime(), holders: 0 })
      addresses.set(address, name)
      return address
    },
    nameAt: (address) => addresses.get(address) ?? null,
    hold(name) {
      const entry = names.get(name)
      if (entry === undefined) return () => {}
      entry.holders += 1
      touch(name, entry)
      let isHeld = true
      return () => {
        if (!isHeld) return
        isHeld = false
        entry.holders -= 1
        if (names.get(name) === entry) touch(name, entry)
      }
    },
    size: () => names.size,
  }
}

function formatIpv4(value: number): string {
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff).join('.')
}
