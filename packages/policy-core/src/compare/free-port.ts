/** What people recognize, before the first number that will do. */
const USUAL = [443, 80, 8080]
const LAST = 65535

/**
 * The ports on which a question has to be asked. Patterns that name no port hold on all of them, so
 * one port that nobody mentions stands for the others: what is covered there is covered everywhere.
 */
export function portsToTry(
  port: number | null,
  patterns: Iterable<{ readonly port: number | null }>,
): readonly number[] {
  if (port !== null) return [port]
  const mentioned = new Set<number>()
  for (const pattern of patterns) if (pattern.port !== null) mentioned.add(pattern.port)
  const free = freePort(mentioned)
  return free === null ? Array.from({ length: LAST }, (_, index) => index + 1) : [free]
}

/** A port that is not among those mentioned; null when all are. */
export function freePort(mentioned: ReadonlySet<number>): number | null {
  const usual = USUAL.find((port) => !mentioned.has(port))
  if (usual !== undefined) return usual
  for (let port = 1; port <= LAST; port += 1) if (!mentioned.has(port)) return port
  return null
}

export function isOnPort(pattern: { readonly port: number | null }, port: number): boolean {
  return pattern.port === null || pattern.port === port
}

/** The port that two patterns share: null is every port, undefined none. */
export function commonPort(a: number | null, b: number | null): number | null | undefined {
  if (a === null || a === b) return b
  return b === null ? a : undefined
}
