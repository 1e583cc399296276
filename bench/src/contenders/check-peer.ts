import type { Answer } from '../measure/isolated-loop.ts'

/**
 * Compares answers before timing, because the speed of wrong answers means little. Returns the
 * reason to leave the peer out, or null when all answers agree.
 */
export function checkPeer(ours: Answer, peer: Answer, requests: readonly string[]): string | null {
  const wrong = requests.filter((text) => ours(text) !== peer(text))
  const [first] = wrong
  if (first === undefined) return null
  const share = `${wrong.length} of ${requests.length} requests`
  return `answers differently on ${share}, such as \`${first}\``
}
