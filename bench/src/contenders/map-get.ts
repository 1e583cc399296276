import { copyStrings } from '../measure/copy-strings.ts'
import type { Contender } from './contender.ts'

export const LIMIT = 'Map.get'

/**
 * The limit: one lookup of the request text in a `Map` of the scenario's size. It knows no
 * patterns, checks nothing and names no rule. The keys are copies, or they would be found by
 * identity.
 */
export function createMapGet(keys: readonly string[]): Contender {
  const map = new Map(copyStrings(keys).map((key) => [key, 1]))
  return { name: LIMIT, answer: (text) => map.get(text) ?? 0 }
}
