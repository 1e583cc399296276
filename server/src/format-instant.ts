let last = { ms: Number.NaN, text: '' }

/**
 * RFC 3339 UTC in milliseconds, as `toISOString` writes it. All that is written in one turn asks for
 * the same instant, and writing one takes as long as looking a policy up.
 */
export function formatInstant(instant: Date): string {
  const ms = instant.getTime()
  if (ms !== last.ms) last = { ms, text: instant.toISOString() }
  return last.text
}
