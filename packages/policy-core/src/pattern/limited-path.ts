import { quote } from '../quote.ts'
import { refused, type Parsed } from '../result.ts'
import { parsePathPattern, type PathPattern } from './path-pattern.ts'

/** Most `**` in one path pattern. Each keeps a position open for the rest of a path. */
const MAX_RECURSIVE = 32
/** Most other `*`. Each is a search in a name, or a position that any name leads to. */
const MAX_STARS = 64

/**
 * Reads a filesystem resource as `parsePathPattern` does, and refuses one with so many stars that
 * matching a hostile path takes long.
 */
export function parseLimitedPath(text: string): Parsed<PathPattern> {
  const pattern = parsePathPattern(text)
  // A text this short cannot hold too many stars, and nearly every pattern is short.
  if (!pattern.ok || text.length <= MAX_STARS) return pattern
  let recursive = 0
  let stars = 0
  for (const segment of pattern.value.segments) {
    if ('recursive' in segment) recursive += 1
    else stars += segment.pieces.length - 1
  }
  if (recursive > MAX_RECURSIVE)
    return refused(
      `${quote(text)} has ${recursive} \`**\`, and a pattern has at most ${MAX_RECURSIVE}; ` +
        `write one \`**\` in place of several, or several shorter patterns`,
    )
  if (stars > MAX_STARS)
    return refused(
      `${quote(text)} has ${stars} \`*\`, and a pattern has at most ${MAX_STARS}; ` +
        `write one \`*\` in place of several in a name, \`**\` in place of several names, ` +
        `or several shorter patterns`,
    )
  return pattern
}
