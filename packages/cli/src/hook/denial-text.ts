import type { BriefDecision } from '@palisade/client'
import { printable } from '../terminal/printable.ts'
import type { AccessRequest } from './access-request.ts'

const MAX_LENGTH = 2_500
const MAX_PART_LENGTH = 500

/** For an automated client, which would otherwise try again or look for a way around. */
const NO_RETRY =
  'Do not retry or look for a way around: the answer stays the same until the policy changes.'

/** The text for a call of which `request` is denied. One line, safe to print. */
export function describeDenied(request: AccessRequest, decision: BriefDecision): string {
  const target = shorten(formatRequest(request))
  const remedy = decision.hint?.startsWith('allow ') === true ? decision.hint : null
  return toLine([
    `Palisade: ${target} ${predicateOf(decision)} (${decision.reason}).`,
    NO_RETRY,
    remedy === null
      ? decision.hint === null || decision.reason === 'no_policy'
        ? 'For access, ask an editor of the organization.'
        : `${shorten(decision.hint)}.`
      : `For access, ask an editor of the organization to add: ${shorten(remedy)}.`,
    ...(decision.support === null ? [] : [endSentence(shorten(decision.support))]),
    `Details: palisade explain ${target}`,
  ])
}

/** The text for a call that cannot be decided. `problem` is a sentence without a full stop. */
export function describeUndecided(problem: string): string {
  return toLine([`Palisade: denied, ${problem}.`, 'Do not retry before this is mended.'])
}

function predicateOf({ reason, rule, hint }: BriefDecision): string {
  switch (reason) {
    case 'rule':
      return `denied by rule \`${shorten(rule ?? '')}\``
    case 'default_deny':
      return 'denied, no rule allows it'
    case 'protected_address':
      return 'denied, the address is protected'
    case 'no_policy':
      return `denied, ${hint ?? 'this machine has no policy'}`
    case 'policy_expired':
      return 'denied, the policy has expired'
    case 'unsupported_policy':
      return 'denied, the policy needs a newer agent'
    default:
      return 'denied'
  }
}

function formatRequest(request: AccessRequest): string {
  if (request.action !== 'connect:tcp') return `${request.action} ${request.path}`
  const host = request.host.includes(':') ? `[${request.host}]` : request.host
  return `${request.action} ${host}:${request.port}`
}

function shorten(text: string): string {
  return text.length <= MAX_PART_LENGTH ? text : `${text.slice(0, MAX_PART_LENGTH)}…`
}

function endSentence(text: string): string {
  return /[.!?…]$/u.test(text) ? text : `${text}.`
}

function toLine(sentences: readonly string[]): string {
  return printable(sentences.join(' ').slice(0, MAX_LENGTH))
}
