import { freePort, LAST_PORT } from '@palisade/policy-core/internal'

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
  return free === null ? Array.from({ length: LAST_PORT }, (_, index) => index + 1) : [free]
}

export function isOnPort(pattern: { readonly port: number | null }, port: number): boolean {
  return pattern.port === null || pattern.port === port
}

/** The port that two patterns share: null means every port, undefined means no port. */
export function commonPort(a: number | null, b: number | null): number | null | undefined {
  if (a === null || a === b) return b
  return b === null ? a : undefined
}
