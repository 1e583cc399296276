import { MAX_PATH_BYTES } from '../path/path.ts'
import { keyOf, type Place } from './path-product.ts'

/** Places to be looked at, those with the shortest path first, each of them once. */
export interface PathQueue {
  readonly add: (place: Place) => void
  readonly take: () => Place | null
  /** Whether a place was left out because its path is longer than 4096 bytes. */
  readonly wasCut: () => boolean
}

export function createPathQueue(start: Place): PathQueue {
  const settled = new Set<string>()
  // One list for each length, since letters take one to four bytes.
  const lists: Place[][] = [[start]]
  let bytes = 0
  let index = 0
  let isCut = false
  return {
    add: (place) => {
      if (place.bytes > MAX_PATH_BYTES) isCut = true
      else (lists[place.bytes] ??= []).push(place)
    },
    take: () => {
      while (bytes < lists.length) {
        const place = lists[bytes]?.[index++]
        if (place === undefined) {
          lists[bytes++] = []
          index = 0
        } else if (!settled.has(keyOf(place))) {
          settled.add(keyOf(place))
          return place
        }
      }
      return null
    },
    wasCut: () => isCut,
  }
}
