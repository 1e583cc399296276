import { agentSocketPath } from '@palisade/client'
import { validateDetailed } from 'node-cron'
import { isIP } from 'node:net'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { AgentError } from '../errors.ts'
import {
  parentContradictions,
  parentVariables,
  SECRET_VARIABLES,
  toParentSettings,
  type ParentSettings,
} from './parent-settings.ts'

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** Settings of one agent, from the environment; paths are absolute. */
export interface AgentConfig {
  /** Directory for all files of the agent; mode 0700. */
  readonly agentDir: string
  readonly enrolmentPath: string
  /** File with the enrolment token, used while the machine is not enrolled. */
  readonly enrolmentTokenPath: string | null
  readonly socketPath: string
  /** Whose programs may ask: those of the agent's user, or those of every user. */
  readonly users: 'own' | 'all'
  /** 0 for any free port; the address is always 127.0.0.1. */
  readonly proxyPort: number
  /** `ip`, `ip:port` or `[ip]:port`; empty for the system's resolver. */
  readonly dnsServers: readonly string[]
  /** Null where allowed connections are dialled directly. */
  readonly parentProxy: ParentSettings | null
  readonly localPoliciesPath: string | null
  /** Cron expression. */
  readonly syncSchedule: string
  /** Whether to ask the server for hints of changes between polls. */
  readonly hints: boolean
  readonly logLevel: (typeof LOG_LEVELS)[number]
}

type Environment = Readonly<Record<string, string | undefined>>

const portSchema = z
  .string()
  .regex(/^(0|[1-9]\d{0,4})$/, 'must be a port number from 0 to 65535')
  .transform(Number)
  .refine((port) => port <= 65535, 'must be a port number from 0 to 65535')

const dnsServersSchema = z
  .string()
  .transform((text) => text.split(',').map((server) => server.trim()))
  .refine(
    (servers) => servers.every(isDnsServer),
    'must be a comma-separated list of `ip` or `ip:port`, such as `192.0.2.53,[2001:db8::53]:5353`',
  )

const scheduleSchema = z
  .string()
  .refine(
    (text) => validateDetailed(text).valid,
    'must be a cron expression, such as `*/5 * * * *` for every five minutes',
  )

const environmentSchema = z.object({
  PALISADE_DATA_DIR: z.string().default('.palisade'),
  PALISADE_ENROLMENT: z.string().optional(),
  PALISADE_ENROLMENT_TOKEN: z.string().optional(),
  PALISADE_AGENT_SOCKET: z.string().optional(),
  PALISADE_USERS: z.enum(['own', 'all'], 'must be `own` or `all`').default('own'),
  PALISADE_PROXY_PORT: portSchema.default(8421),
  PALISADE_DNS_SERVERS: dnsServersSchema.default([]),
  ...parentVariables,
  PALISADE_LOCAL_POLICIES: z.string().optional(),
  PALISADE_SYNC_SCHEDULE: scheduleSchema.default('*/5 * * * *'),
  PALISADE_HINTS: z.enum(['on', 'off'], 'must be `on` or `off`').default('on'),
  PALISADE_LOG_LEVEL: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`).default('info'),
})

/**
 * Reads the agent's settings. An empty variable counts as absent; relative paths start at `cwd`.
 *
 * Throws `ERR_CONFIG_INVALID` with one line for each invalid variable.
 */
export function readConfig(env: Environment, cwd: string): AgentConfig {
  const present = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const parsed = environmentSchema.safeParse(present)
  if (!parsed.success) {
    throw new AgentError(
      'ERR_CONFIG_INVALID',
      parsed.error.issues.map((issue) => {
        const variable = String(issue.path[0])
        return SECRET_VARIABLES.has(variable)
          ? `${variable}: ${issue.message}`
          : `${variable}: ${issue.message}, not \`${present[variable]}\``
      }),
    )
  }
  const settings = parsed.data
  const contradictions = parentContradictions(settings, { proxyPort: settings.PALISADE_PROXY_PORT })
  if (settings.PALISADE_USERS === 'all' && settings.PALISADE_AGENT_SOCKET === undefined)
    contradictions.push(
      'PALISADE_USERS: `all` needs PALISADE_AGENT_SOCKET in a directory that other users can ' +
        'enter, such as `/run/palisade/agent.sock`',
    )
  if (contradictions.length > 0) throw new AgentError('ERR_CONFIG_INVALID', contradictions)
  const agentDir = join(resolve(cwd, settings.PALISADE_DATA_DIR), 'agent')
  const absolute = (path: string): string => resolve(cwd, path)
  return {
    agentDir,
    enrolmentPath: absolute(settings.PALISADE_ENROLMENT ?? join(agentDir, 'enrolment.json')),
    enrolmentTokenPath:
      settings.PALISADE_ENROLMENT_TOKEN === undefined
        ? null
        : absolute(settings.PALISADE_ENROLMENT_TOKEN),
    socketPath:
      settings.PALISADE_AGENT_SOCKET === undefined
        ? agentSocketPath(resolve(cwd, settings.PALISADE_DATA_DIR), {})
        : absolute(settings.PALISADE_AGENT_SOCKET),
    users: settings.PALISADE_USERS,
    proxyPort: settings.PALISADE_PROXY_PORT,
    dnsServers: settings.PALISADE_DNS_SERVERS,
    parentProxy: toParentSettings(settings, absolute),
    localPoliciesPath:
      settings.PALISADE_LOCAL_POLICIES === undefined
        ? null
        : absolute(settings.PALISADE_LOCAL_POLICIES),
    syncSchedule: settings.PALISADE_SYNC_SCHEDULE,
    hints: settings.PALISADE_HINTS === 'on',
    logLevel: settings.PALISADE_LOG_LEVEL,
  }
}

function isDnsServer(text: string): boolean {
  if (isIP(text) !== 0) return true
  const parts = /^(?:\[([^\]]+)\]|([^:]+)):([1-9]\d{0,4})$/.exec(text)
  if (parts === null || Number(parts[3]) > 65535) return false
  return parts[1] === undefined ? isIP(parts[2] ?? '') === 4 : isIP(parts[1]) === 6
}
