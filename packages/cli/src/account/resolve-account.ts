import { parseServerUrl } from '@palisade/client'
import { configurationError } from '../runtime/cli-error.ts'
import type { Account, StoredCredentials } from './credentials.ts'

type Environment = Readonly<Record<string, string | undefined>>

const VARIABLES = {
  server: 'PALISADE_SERVER',
  org: 'PALISADE_ORG',
  username: 'PALISADE_USERNAME',
  token: 'PALISADE_TOKEN',
} as const

/**
 * Resolves the account of a command: the stored one, with each part overridden by
 * `PALISADE_SERVER`, `PALISADE_ORG`, `PALISADE_USERNAME` and `PALISADE_TOKEN`. Throws exit 78.
 */
export function resolveAccount(stored: StoredCredentials | null, env: Environment): Account {
  const part = (name: keyof Account): string => {
    // An empty variable counts as unset.
    const value = env[VARIABLES[name]] || stored?.[name]
    if (value !== undefined) return value
    throw configurationError(
      `not signed in; run \`palisade login\`, or set ${Object.values(VARIABLES).join(', ')} ` +
        `(${VARIABLES[name]} is missing)`,
    )
  }
  const server = canonical(part('server'))
  if (stored !== null && !env[VARIABLES.token]) refuseOtherServer(server, stored)
  return { server, org: part('org'), username: part('username'), token: part('token') }
}

/** A caller who sets only PALISADE_SERVER must not redirect the stored secret to another server. */
function refuseOtherServer(server: string, stored: StoredCredentials): void {
  if (server === canonical(stored.server)) return
  throw configurationError(
    `PALISADE_SERVER is not the server \`${stored.server}\` that the stored token belongs to; ` +
      'set PALISADE_TOKEN too, or run `palisade login`',
  )
}

function canonical(server: string): string {
  try {
    return parseServerUrl(server)
  } catch (error) {
    throw configurationError(error instanceof Error ? error.message : String(error), error)
  }
}
