import { enlarged } from '../enlarged.ts'

/** Maximum distance of a set from the cell of its hash. */
const MAX_PROBES = 32

/** Numbers lists of whole numbers: an equal list gets an equal number, counted from 0. */
export interface IntSets {
  /** How many lists have a number. */
  size(): number
  /**
   * The number of the list of the first `count` members. Null when a new list has no room, or when
   * too many lists share a hash.
   */
  intern(members: Int32Array, count: number): number | null
  /** The members of a list, in place: valid until the next `intern` or `clear`. */
  members(set: number): Int32Array
  clear(): void
}

/** Room for `maxSets` lists with `maxMembers` members in all; memory grows only as it is used. */
export function createIntSets(maxSets: number, maxMembers: number): IntSets {
  let size = 0
  let pool = new Int32Array(16)
  let ends = new Int32Array(8)
  let slots = new Int32Array(16)

  const startOf = (set: number): number => (set === 0 ? 0 : ends[set - 1]!)

  const isEqual = (set: number, members: Int32Array, count: number): boolean => {
    const start = startOf(set)
    if (ends[set]! - start !== count) return false
    for (let index = 0; index < count; index += 1) {
      if (pool[start + index] !== members[index]) return false
    }
    return true
  }

  const insert = (set: number, hash: number): void => {
    const mask = slots.length - 1
    let slot = hash & mask
    while (slots[slot] !== 0) slot = (slot + 1) & mask
    slots[slot] = set + 1
  }

  const makeRoom = (used: number): void => {
    if (used > pool.length) pool = enlarged(pool, used)
    if (size < ends.length) return
    ends = enlarged(ends, size + 1)
    slots = new Int32Array(ends.length * 2)
    for (let set = 0; set < size; set += 1) {
      insert(set, hashOf(pool.subarray(startOf(set), ends[set]), ends[set]! - startOf(set)))
    }
  }

  return {
    size: () => size,
    intern(members, count) {
      const hash = hashOf(members, count)
      const mask = slots.length - 1
      for (let probe = 0; probe < MAX_PROBES; probe += 1) {
        const found = slots[(hash + probe) & mask]!
        if (found !== 0) {
          if (isEqual(found - 1, members, count)) return found - 1
          continue
        }
        const start = startOf(size)
        if (size >= maxSets || start + count > maxMembers) return null
        makeRoom(start + count)
        pool.set(members.subarray(0, count), start)
        ends[size] = start + count
        insert(size, hash)
        size += 1
        return size - 1
      }
      return null
    },
    members: (set) => pool.subarray(startOf(set), ends[set]),
    clear() {
      size = 0
      pool = new Int32Array(16)
      ends = new Int32Array(8)
      slots = new Int32Array(16)
    },
  }
}

function hashOf(members: Int32Array, count: number): number {
  let hash = count
  for (let index = 0; index < count; index += 1) {
    hash = Math.imul(hash ^ members[index]!, 0x9e3779b1)
    hash ^= hash >>> 15
  }
  return hash
}
