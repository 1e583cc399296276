import type { CreateAccessRequest } from '@palisade/protocol'
import { askAgent } from '../../agent/ask-agent.ts'
import type { DecisionAnswer } from '../../check/answer.ts'
import { formatRule, formatTarget } from '../../check/format-decision.ts'
import { parseTarget } from '../../check/target.ts'
import { EXIT } from '../../runtime/exit-code.ts'
import type { AgentIo, Io } from '../../runtime/io.ts'
import type { Style } from '../../terminal/style.ts'

/**
 * Asks the agent whether a rule allows the target already, so that a grant would change nothing.
 * Returns null if a grant could: also for a pattern, which is no request, and for a target that is
 * allowed only for now, by another grant or by the default `observe`.
 */
export async function findStandingAllow(
  io: AgentIo & Pick<Io, 'home'>,
  { action, resources }: Pick<CreateAccessRequest, 'action' | 'resources'>,
): Promise<DecisionAnswer | null> {
  const [resource, ...others] = resources
  if (resource === undefined || others.length > 0 || resource.includes('*')) return null
  const target = resource.replace(/^~(?=\/)/, () => io.home)
  const request = parseTarget(action, target, undefined)
  const answer = await askAgent(io, EXIT.failed, (agent) =>
    agent.decide({ ...request, resolve: true }),
  )
  const isStanding =
    answer.decision === 'allow' &&
    answer.reason === 'rule' &&
    answer.rules.some(({ origin }) => origin !== 'grant')
  return isStanding ? answer : null
}

/** Says that the target is allowed, by which rules, and that the server was not asked. */
export function formatStandingAllow({ request, rules }: DecisionAnswer, style: Style): string {
  const target = request === null ? '' : formatTarget(request)
  const by = rules.filter(({ origin }) => origin !== 'grant')
  return (
    `${style.good('allowed already')}  ${style.plain(target)}\n` +
    by.map((rule) => `  ${formatRule(rule, style)}\n`).join('') +
    'no request was made\n'
  )
}
