import { nearestName } from '@palisade/protocol'

const PREFIX = 'PALISADE_'

/** Settings of agent, CLI and launcher, which may share an environment with the server. */
export const FOREIGN_SETTINGS: readonly string[] = [
  'PALISADE_AGENT_SOCKET',
  'PALISADE_AGENT_URL',
  'PALISADE_CONFIG_DIR',
  'PALISADE_DNS_SERVERS',
  'PALISADE_ENROLMENT',
  'PALISADE_ENROLMENT_TOKEN',
  'PALISADE_HINTS',
  'PALISADE_LOCAL_POLICIES',
  'PALISADE_ORG',
  'PALISADE_OWNER',
  'PALISADE_PARENT_CA',
  'PALISADE_PARENT_NO_PROXY',
  'PALISADE_PARENT_PROXY',
  'PALISADE_PARENT_PROXY_CREDENTIALS',
  'PALISADE_PARENT_RESOLVES',
  'PALISADE_PROXY_PORT',
  'PALISADE_SANDBOX',
  'PALISADE_SERVER',
  'PALISADE_SYNC_SCHEDULE',
  'PALISADE_TOKEN',
  'PALISADE_USERNAME',
  'PALISADE_USERS',
]

/**
 * Returns one line for each `PALISADE_*` that no program reads: a misspelt `PALISADE_TLS_CERT`
 * would make the server speak plain HTTP. `known` are the server's own settings.
 */
export function findUnknownSettings(
  environment: Readonly<Record<string, string | undefined>>,
  known: readonly string[],
): string[] {
  const readable = new Set([...known, ...FOREIGN_SETTINGS])
  return Object.keys(environment)
    .filter((name) => name.startsWith(PREFIX) && !readable.has(name))
    .map((name) => {
      const meant = nearestSetting(name, known)
      return meant === null
        ? `\`${name}\` is not a setting; \`palisade-server --help\` lists all`
        : `\`${name}\` is not a setting; write \`${meant}\``
    })
}

/** Compares without the prefix, which would make any two names similar. */
function nearestSetting(name: string, known: readonly string[]): string | null {
  const end = name.slice(PREFIX.length)
  if (known.includes(end)) return end
  const ends = known.map((each) => (each.startsWith(PREFIX) ? each.slice(PREFIX.length) : each))
  const nearest = nearestName(end, ends)
  return nearest === null ? null : (known[ends.indexOf(nearest)] ?? null)
}
