/** Well-known ports, which are tried first. */
const USUAL = [443, 80, 8080]
export const LAST_PORT = 65535

/** A port that is not mentioned; null when all are. */
export function freePort(mentioned: ReadonlySet<number>): number | null {
  const usual = USUAL.find((port) => !mentioned.has(port))
  if (usual !== undefined) return usual
  for (let port = 1; port <= LAST_PORT; port += 1) if (!mentioned.has(port)) return port
  return null
}
