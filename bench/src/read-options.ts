import { parseArgs } from 'node:util'
import { AGENT_GROUPS, type AgentGroup } from './agent/run-agent-bench.ts'
import { EVIDENCE_GROUPS, type EvidenceGroup } from './evidence/run-evidence-bench.ts'
import { DEFAULT_AGENTS, DEFAULT_MINUTES } from './fleet/extent.ts'
import { HINTS_GROUPS, type HintsGroup } from './hints/run-hints-bench.ts'
import { GROUPS, type Group } from './plan.ts'
import { SANDBOX_GROUPS, type SandboxGroup } from './sandbox/run-sandbox-bench.ts'
import { SERVER_GROUPS, type ServerGroup } from './server/run-server-bench.ts'

export type Options =
  | { readonly subject: 'help' }
  | { readonly subject: 'decisions'; readonly quick: boolean; readonly only: Group | null }
  | { readonly subject: 'server'; readonly quick: boolean; readonly only: ServerGroup | null }
  | { readonly subject: 'agent'; readonly quick: boolean; readonly only: AgentGroup | null }
  | { readonly subject: 'sandbox'; readonly quick: boolean; readonly only: SandboxGroup | null }
  | { readonly subject: 'hints'; readonly quick: boolean; readonly only: HintsGroup | null }
  | { readonly subject: 'evidence'; readonly quick: boolean; readonly only: EvidenceGroup | null }
  | { readonly subject: 'replay'; readonly quick: boolean }
  | { readonly subject: 'fleet'; readonly agents: number; readonly minutes: number }

/** Parses the command's arguments, or returns an error message. */
export function readOptions(argv: readonly string[]): Options | string {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      options: {
        quick: { type: 'boolean', default: false },
        only: { type: 'string' },
        agents: { type: 'string' },
        minutes: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
      allowPositionals: true,
    })
    if (values.help) return { subject: 'help' }
    const { quick, only } = values
    const [subject, ...more] = positionals
    if (more.length === 0 && subject === 'fleet') return chooseFleet(values)
    if (values.agents !== undefined || values.minutes !== undefined)
      return '`--agents` and `--minutes` are for `fleet`; write `fleet --agents 2000 --minutes 5`'
    if (more.length === 0 && subject === undefined) return choose('decisions', quick, only, GROUPS)
    const processes = more.length === 0 ? chooseProcesses(subject, quick, only) : null
    if (processes !== null) return processes
    if (more.length === 0 && subject === 'replay')
      return only === undefined ? { subject, quick } : '`replay` has no `--only`; leave it out'
    return (
      `unknown subject \`${positionals.join(' ')}\`; ` +
      'write `server`, `agent`, `sandbox`, `hints`, `evidence`, `replay`, `fleet` or no subject'
    )
  } catch (error) {
    const why = error instanceof Error ? error.message.split('.')[0] : String(error)
    return (
      `${why ?? ''}; write \`[server|agent|sandbox|hints|evidence|replay] [--quick] ` +
      `[--only ${GROUPS.join('|')}]\`, ` +
      '`fleet [--agents N] [--minutes M]` or `--help`'
    )
  }
}

/** Null for a subject without groups of its own. */
function chooseProcesses(
  subject: string | undefined,
  quick: boolean,
  only: string | undefined,
): Options | string | null {
  switch (subject) {
    case 'server':
      return choose(subject, quick, only, SERVER_GROUPS)
    case 'agent':
      return choose(subject, quick, only, AGENT_GROUPS)
    case 'sandbox':
      return choose(subject, quick, only, SANDBOX_GROUPS)
    case 'hints':
      return choose(subject, quick, only, HINTS_GROUPS)
    case 'evidence':
      return choose(subject, quick, only, EVIDENCE_GROUPS)
    default:
      return null
  }
}

/** Bounds both options by the agent's polling period and the capacity of one process. */
function chooseFleet(values: {
  readonly quick: boolean
  readonly only?: string | undefined
  readonly agents?: string | undefined
  readonly minutes?: string | undefined
}): Options | string {
  const agents = readNumber(values.agents, DEFAULT_AGENTS)
  const minutes = readNumber(values.minutes, DEFAULT_MINUTES)
  if (values.quick || values.only !== undefined)
    return '`fleet` has no `--quick` and no `--only`; write `fleet --agents 2000 --minutes 5`'
  if (!Number.isInteger(agents) || agents < 1 || agents > 1_000_000)
    return `\`--agents ${values.agents}\` must be a whole number from 1 to 1000000`
  if (!(minutes >= 1 && minutes <= 600))
    return `\`--minutes ${values.minutes}\` must be a number from 1 to 600`
  return { subject: 'fleet', agents, minutes }
}

function readNumber(text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise
  return /^\d{1,7}(\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN
}

function choose<S, G extends string>(
  subject: S,
  quick: boolean,
  only: string | undefined,
  groups: readonly G[],
): { readonly subject: S; readonly quick: boolean; readonly only: G | null } | string {
  if (only === undefined) return { subject, quick, only: null }
  const group = groups.find((name) => name === only)
  return group === undefined
    ? `unknown group \`--only ${only}\`; write one of ${groups.join(', ')}`
    : { subject, quick, only: group }
}
