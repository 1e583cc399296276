/** Well-known ports, which are tried first. */
const USUAL = [443, 80, 8080]
const LAST = 65535

/**
 * The ports on which a question must be asked. Patterns without a port hold on every port, so one
 * unmentioned port stands for all: a request that is covered there is covered on every port.
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

/** A port that is not mentioned; null when all are. */
export function freePort(mentioned: ReadonlySet<number>): number | null {
  const usual = USUAL.find((port) => !mentioned.has(port))
  if (usual !== undefined) return usual
  for (let port = 1; port <= LAST; port += 1) if (!mentioned.has(port)) return port
  return null
}

export function isOnPort(pattern: { readonly port: number | null }, port: number): boolean {
  return pattern.port === null || pattern.port === port
}

/** The port that two patterns share: null means every port, undefined means no port. */
export function commonPort(a: number | null, b: number | null): number | null | undefined {
  if (a === null || a === b) return b
  return b === null ? a : undefined
}
