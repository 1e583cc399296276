import type { DecisionRecord, LocalExplanation } from '@palisade/protocol'
import type { Command } from 'commander'
import { askAgent } from '../agent/ask-agent.ts'
import { findLastDenial, lastTimeOf } from '../agent/denials.ts'
import { formatRule, formatTarget } from '../check/format-decision.ts'
import { EXIT } from '../runtime/exit-code.ts'
import { present, type RunContext } from '../runtime/run-context.ts'
import { formatAge } from '../terminal/age.ts'
import { count } from '../terminal/count.ts'
import { formatPairs } from '../terminal/pairs.ts'
import { quoteShell } from '../terminal/quote-shell.ts'
import type { Style } from '../terminal/style.ts'
import { formatProgram } from './format-record.ts'

const PROTOCOLS: Readonly<Record<DecisionRecord['protocol'], string>> = {
  http: 'HTTP through the proxy',
  connect: 'CONNECT through the proxy',
  socks5: 'SOCKS5 through the proxy',
  socks5_udp: 'UDP over SOCKS5 through the proxy',
  tcp: 'a direct connection from a sandbox',
  udp: 'a datagram from a sandbox',
  dns: 'the name server of a sandbox',
  file: 'a name that a command in a sandbox made',
  mount: 'a workspace of `palisade run`',
  decide: 'a question to the local API',
}

/** A near miss of the policy in force now. */
type NearMiss = LocalExplanation['near_misses'][number]

type DecidingRule = DecisionRecord['decision']['rules'][number]

/** Ids of the policies that hold the rules of `palisade deny`. */
const LOCAL_DENIES: ReadonlySet<string> = new Set(['local_network', 'local_filesystem'])

interface Answer {
  /** Null before the first denial. */
  readonly denial: DecisionRecord | null
  readonly near_misses: readonly NearMiss[]
  readonly organization: string
  readonly server: string
  /** The organization's text after a denial by its policies; null without one. */
  readonly support_message: string | null
  /** Explains the request by the policy in force now; null for an invalid request. */
  readonly command: string | null
}

/** `palisade why` */
export function addWhyCommand(program: Command, context: RunContext): void {
  program
    .command('why')
    .summary('explain the last denial on this machine')
    .description('Explain the last denial: program, rule, and the rule that would allow it.')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Decision, rule and hint are those of the denial; rules that nearly matched are those of the policies
in force now. \`palisade log --denied\` shows earlier denials.

Exit codes: 0 the agent answered, also before the first denial (with \`denial\`: null), 1 it did not

Examples:
  palisade why
  palisade why --json`,
    )
    .action(async (options: { readonly json?: true }) => {
      const { io, style } = context
      const answer = await askAgent(io, EXIT.failed, async (agent): Promise<Answer> => {
        const denial = await findLastDenial(agent)
        const { org, server, support_message = null } = await agent.status()
        const request = denial?.decision.request ?? null
        const isOpen = denial?.decision.reason === 'default_deny'
        const explained = isOpen && request !== null ? await agent.explain(request) : null
        return {
          denial,
          near_misses: explained?.near_misses ?? [],
          organization: org,
          server,
          support_message,
          command: request === null ? null : `palisade explain ${formatArguments(request)}`,
        }
      })
      await present(context, options.json, answer, () => formatAnswer(answer, io.now(), style))
    })
}

function formatAnswer(answer: Answer, nowMs: number, style: Style): string {
  const { denial } = answer
  if (denial === null) return 'no denial is recorded yet; `palisade status` shows the policies\n'
  const { decision } = denial
  const { request, reason, revision, hint } = decision
  const at = lastTimeOf(denial)
  const pairs: [string, string][] = [
    ['denied', style.bad(request === null ? 'an invalid request' : formatTarget(request))],
    ['when', style.plain(`${at}, ${formatAge(at, nowMs)}${formatCount(denial)}`)],
    ['by', PROTOCOLS[denial.protocol]],
    ['program', style.plain(formatProgram(denial)) || 'unknown: it ended before it was found'],
    ['reason', `${reason}${revision === null ? '' : ` (revision ${revision})`}`],
    ...decision.rules.map((rule): [string, string] => ['rule', formatRule(rule, style)]),
    ...formatOthers(decision.rules_omitted),
    ...formatEnding(denial),
    ...answer.near_misses
      .filter(({ miss }) => miss !== 'inactive')
      .map((miss): [string, string] => [
        'nearly',
        `${formatRule(miss, style)}: ${style.plain(miss.message)}`,
      ]),
    ...formatHint(hint, style),
    ...formatAdvice(answer, denial, style),
  ]
  return formatPairs(pairs, style)
}

function formatCount({ count: times, flow }: DecisionRecord): string {
  if (times === 1) return ''
  return `, ${count(times, flow === undefined ? 'time' : 'connection')} within a minute`
}

function formatOthers(omitted = 0): readonly [string, string][] {
  return omitted === 0 ? [] : [['', `and ${count(omitted, 'more rule')}`]]
}

function formatEnding({ flow }: DecisionRecord): readonly [string, string][] {
  if (flow === undefined) return []
  const why =
    flow.cause === 'content'
      ? 'the connection was open, and its content contradicts its target'
      : 'the connection was open when the policy changed'
  return [['closed', why]]
}

function formatHint(hint: string | null, style: Style): readonly [string, string][] {
  if (hint === null) return []
  return [[hint.startsWith('allow ') ? 'to allow' : 'hint', style.plain(hint)]]
}

/** Whom to ask, or the command that says what is missing. */
function formatAdvice(
  { organization, server, support_message, command }: Answer,
  { decision: { reason, rules } }: DecisionRecord,
  style: Style,
): readonly [string, string][] {
  switch (reason) {
    case 'invalid_request':
      return []
    case 'no_policy':
    case 'policy_expired':
    case 'unsupported_policy':
      return [['more', '`palisade status` says what the policies lack']]
    default: {
      const isOwn = rules.length > 0 && rules.every(({ origin }) => origin === 'local')
      const asks: readonly [string, string][] = isOwn
        ? rules.map((rule) => ['undo', style.plain(formatUndo(rule))])
        : [
            ...(reason === 'default_deny' ? [['request', REQUEST] as [string, string]] : []),
            ['ask', style.plain(`an editor of ${organization} at ${server}`)],
            ...(support_message === null
              ? []
              : [['support', style.plain(support_message)] as [string, string]]),
          ]
      return command === null ? asks : [...asks, ['more', style.plain(command)]]
    }
  }
}

/** Without a target it asks for that of the last denial. */
const REQUEST = '`palisade request --reason TEXT` asks for access for a while'

/** A rule of `palisade deny`, or of a file that the user wrote. */
function formatUndo({ policy_id, rule_id, resource }: DecidingRule): string {
  return LOCAL_DENIES.has(policy_id) && /^deny_\d+$/.test(rule_id)
    ? `palisade undeny ${quoteShell(resource)}`
    : 'change the file of local rules of this machine'
}

/** The arguments of `palisade check` and `explain`, quoted for a shell. */
function formatArguments(request: NonNullable<DecisionRecord['decision']['request']>): string {
  if ('path' in request) return `${request.action} ${quoteShell(request.path)}`
  const { action, host, port, address } = request
  const target = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const at = address === undefined || address === host ? '' : ` --address ${quoteShell(address)}`
  return `${action} ${quoteShell(target)}${at}`
}
