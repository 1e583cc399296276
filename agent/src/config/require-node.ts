import { AgentError } from '../errors.ts'

/** First major release of Node with everything that the agent calls. */
const MINIMUM_MAJOR = 22

/**
 * Throws `ERR_CONFIG_INVALID` for an older Node: the first missing function would end a fetch,
 * which reads like a server that is away.
 */
export function requireNode(version: string): void {
  if (Number.parseInt(version, 10) >= MINIMUM_MAJOR) return
  throw new AgentError('ERR_CONFIG_INVALID', [
    `needs Node ${MINIMUM_MAJOR} or newer, not ${version}; run it through npm, which brings one`,
  ])
}
