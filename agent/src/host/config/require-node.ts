import { AgentError } from '../errors.ts'

/** Oldest major release of Node with every function that the agent calls. */
const MINIMUM_MAJOR = 22

/**
 * Throws `ERR_CONFIG_INVALID` for an older Node. Otherwise the first missing function would fail a
 * fetch, which looks like an unreachable server.
 */
export function requireNode(version: string): void {
  if (Number.parseInt(version, 10) >= MINIMUM_MAJOR) return
  throw new AgentError('ERR_CONFIG_INVALID', [
    `needs Node ${MINIMUM_MAJOR} or newer, not ${version}; run it through npm, which brings one`,
  ])
}
