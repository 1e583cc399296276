import type { PoliciesInForce } from './agent-status.ts'
import type { Credentials } from './first-organization.ts'

/** A machine whose server and agent run. */
export interface RunningMachine {
  readonly url: string
  readonly proxy: string
  readonly org: string
  readonly owner: string
  readonly dataDir: string
  /** Begins a command that must find the same directory. */
  readonly dataPrefix: string
  /** At the agent. */
  readonly inForce: PoliciesInForce | null
  /** Of an organization that was created just now. */
  readonly credentials: Credentials | null
}

const PALISADE = 'npm run -s palisade --'

/** The text that a person sees once everything runs. */
export function formatBanner(machine: RunningMachine): string {
  const { url, proxy, org, owner, dataDir, dataPrefix, inForce, credentials } = machine
  const rows: readonly (readonly [string, string])[] = [
    ['server', `${url}  (API pages: ${url}/docs)`],
    ['organization', `${org}, owner ${owner}`],
    ...(credentials === null ? [] : credentialRows(credentials)),
    ['proxy', proxy],
    ['data', `${dataDir}  (server.log, agent.log)`],
  ]
  const table = rows.map(([label, value]) => `  ${label.padEnd(14)}${value}`)
  const login = `  ${PALISADE} login --server ${url} --org ${org} --username ${owner}`
  const reset = `${dataPrefix}npm run -s palisade-server -- user reset-password ${owner}`
  const isEmpty = inForce === null || inForce.policies === 0
  return [
    '',
    'Palisade is running. Ctrl-C stops it.',
    '',
    ...table,
    '',
    ...(isEmpty ? firstSteps(login) : nextSteps(login, inForce, dataPrefix)),
    ...(credentials === null
      ? [`A lost token and password are replaced by a new password:`, '', `  ${reset}`, '']
      : []),
    'The agent takes a change within five minutes, or at once with:',
    '',
    `  ${dataPrefix}${PALISADE} sync && curl -x ${proxy} http://example.com/`,
    '',
    '',
  ].join('\n')
}

function firstSteps(login: string): string[] {
  return [
    'Nothing is allowed yet. In another terminal, in this folder:',
    '',
    login,
    `  ${PALISADE} policy create first`,
    `  ${PALISADE} rule add first --name web --action connect:tcp --allow example.com`,
    '',
  ]
}

function nextSteps(
  login: string,
  { revision, policies, rules }: PoliciesInForce,
  dataPrefix: string,
): string[] {
  const counted = `${count(policies, 'policy', 'policies')}, ${count(rules, 'rule', 'rules')}`
  return [
    `In force: revision ${revision}, ${counted}. In another terminal, in this folder:`,
    '',
    `  ${dataPrefix}${PALISADE} status`,
    login,
    `  ${PALISADE} policy list`,
    '',
  ]
}

function count(n: number, one: string, many: string): string {
  return `${n} ${n === 1 ? one : many}`
}

/** Secrets to show also when a later step fails, because they cannot be read again. */
export function credentialRows(credentials: Credentials): [string, string][] {
  return [
    ['token', `${credentials.personal_token}  (shown this once)`],
    ['password', `${credentials.password}  (of ${credentials.username}, shown this once)`],
  ]
}
