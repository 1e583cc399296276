import { copyStrings } from '../measure/copy-strings.ts'
import { createMapLoop } from '../measure/isolated-loop.ts'
import type { Contender } from './contender.ts'

export const BASELINE = 'Map.get'

/**
 * The baseline: one lookup of the request text in a `Map` of the scenario's size, in a loop without
 * other calls, patterns, validation or rule names. The keys are copies, because V8 would find the
 * same string objects by identity.
 */
export function createMapGet(keys: readonly string[]): Contender {
  const map = new Map(copyStrings(keys).map((key) => [key, 1]))
  return { name: BASELINE, answer: (text) => map.get(text) ?? 0, run: createMapLoop(map) }
}
