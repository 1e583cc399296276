/** Keys of a lane within a lane, the coarsest first, such as a network and an address in it. */
export type LanePath = readonly string[]

/**
 * Items that wait in lanes within lanes. The lanes of each level take turns, so that a caller with
 * many lanes within one has no more turns by them. A new lane is the last of its level.
 */
export interface FairQueue<T> {
  /** Counts all items, or those below `path`. */
  size(path?: LanePath): number
  push(path: LanePath, item: T): void
  /**
   * The next item of the first level's lanes that `mayTake` lets through; undefined if there is
   * none.
   */
  shift(mayTake?: (key: string) => boolean): T | undefined
  /** Makes a lane of the first level the last one. */
  defer(key: string): void
  /**
   * Removes the last item of the longest lane, for one to be pushed at `path`; undefined unless the
   * lane of that one stays shorter. The first `shared` keys are those of both.
   */
  makeRoom(path: LanePath, shared?: number): T | undefined
  /** Removes the last item of the longest lane, regardless of the caller. */
  dropLongest(): T | undefined
}

interface Lane<T> {
  size: number
  readonly items: T[]
  readonly lanes: Map<string, Lane<T>>
}

export function createFairQueue<T>(): FairQueue<T> {
  const root = createLane<T>()

  return {
    size(path = []) {
      let lane: Lane<T> | undefined = root
      for (const key of path) lane = lane?.lanes.get(key)
      return lane?.size ?? 0
    },
    push(path, item) {
      let lane = root
      lane.size += 1
      for (const key of path) {
        const inner: Lane<T> = lane.lanes.get(key) ?? createLane()
        lane.lanes.set(key, inner)
        inner.size += 1
        lane = inner
      }
      lane.items.push(item)
    },
    shift: (mayTake = () => true) => shift(root, mayTake),
    defer(key) {
      const lane = root.lanes.get(key)
      if (lane === undefined) return
      root.lanes.delete(key)
      root.lanes.set(key, lane)
    },
    makeRoom: (path, shared = 0) => makeRoom(root, path, shared),
    dropLongest: () => dropLongest(root),
  }
}

function createLane<T>(): Lane<T> {
  return { size: 0, items: [], lanes: new Map() }
}

function shift<T>(lane: Lane<T>, mayTake: (key: string) => boolean): T | undefined {
  for (const [key, inner] of lane.lanes) {
    if (!mayTake(key)) continue
    const item = shift(inner, () => true)
    lane.size -= 1
    lane.lanes.delete(key)
    if (inner.size > 0) lane.lanes.set(key, inner)
    return item
  }
  const item = lane.items.shift()
  if (item !== undefined) lane.size -= 1
  return item
}

function makeRoom<T>(lane: Lane<T>, [key, ...rest]: LanePath, shared: number): T | undefined {
  if (key === undefined) return undefined
  const own = lane.lanes.get(key)
  if (shared === 0) {
    const [name, longest] = longestOf(lane) ?? []
    if (name !== undefined && longest !== undefined && longest.size > (own?.size ?? 0) + 1)
      return remove(lane, name, longest, dropLongest(longest))
  }
  return own === undefined
    ? undefined
    : remove(lane, key, own, makeRoom(own, rest, Math.max(0, shared - 1)))
}

function dropLongest<T>(lane: Lane<T>): T | undefined {
  const [name, longest] = longestOf(lane) ?? []
  if (name !== undefined && longest !== undefined)
    return remove(lane, name, longest, dropLongest(longest))
  const item = lane.items.pop()
  if (item !== undefined) lane.size -= 1
  return item
}

/** Notes that `item` is gone from `inner`; undefined if no item was removed. */
function remove<T>(lane: Lane<T>, key: string, inner: Lane<T>, item: T | undefined): T | undefined {
  if (item === undefined) return undefined
  lane.size -= 1
  if (inner.size === 0) lane.lanes.delete(key)
  return item
}

/** The first of the longest; undefined without lanes. */
function longestOf<T>({ lanes }: Lane<T>): readonly [string, Lane<T>] | undefined {
  let longest: readonly [string, Lane<T>] | undefined
  for (const entry of lanes)
    if (longest === undefined || entry[1].size > longest[1].size) longest = entry
  return longest
}
