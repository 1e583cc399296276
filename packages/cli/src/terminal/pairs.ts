import type { Style } from './style.ts'

/** Two columns without a head: names, and values that the caller has escaped. */
export function formatPairs(pairs: readonly (readonly [string, string])[], style: Style): string {
  const width = Math.max(...pairs.map(([name]) => name.length))
  return pairs.map(([name, value]) => `${style.quiet(name.padEnd(width))}  ${value}\n`).join('')
}
