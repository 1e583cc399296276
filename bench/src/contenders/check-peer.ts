import type { Answer } from '../measure/isolated-loop.ts'

/**
 * Compares answers before anything is timed: a fast wrong answer is no figure. Returns why the
 * peer must be left out, or null when every answer is ours.
 */
export function checkPeer(ours: Answer, peer: Answer, requests: readonly string[]): string | null {
  const wrong = requests.filter((text) => ours(text) !== peer(text))
  const [first] = wrong
  if (first === undefined) return null
  return `answers differently on ${wrong.length} of ${requests.length} requests, such as \`${first}\``
}
